"""What the states look like in which something is wrong with the trace, a rule or the question."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from analyzer import analysis as doc
from analyzer.explain import Options, analyse_with_facts
from analyzer.tui.answer.opened import Opened
from analyzer.tui.app import AdvisorApp
from analyzer.tui.look.terminal import Look, look_for
from analyzer.tui.widgets.check_table import CheckTable
from analyzer.tui.work.job import Job, Report
from showing import analyses
from showing.ui import loader_bound, running, settle, text_of
from traces.errors import UnreadableTraceError

MakeApp = Callable[..., AdvisorApp]
SMALL = (80, 24)
pytestmark = pytest.mark.usefixtures("snapshot_guard")


async def test_a_cut_file_says_what_was_salvaged(app_for: MakeApp, tmp_path: Path) -> None:
    trace = loader_bound().write(tmp_path / "trace.json")
    whole = trace.read_bytes()
    trace.write_bytes(whole[: len(whole) * 3 // 4])
    found = analyse_with_facts(trace, Options(select=("DL001",)))
    assert {repair.kind for repair in found.analysis.repairs} == {"partial-step", "truncated"}
    # On a small screen the first remark alone has room.
    async with running(app_for(found)) as pilot:
        assert "the end is missing" in text_of(pilot.app)
        await pilot.press("exclamation_mark")
        await settle(pilot)
        remarks = " ".join(pilot.app.screen.text(60).plain.split())
    for repair in found.analysis.repairs:
        assert f"(first at byte {repair.first_offset:,}, event {repair.first_event:,})" in remarks


def test_what_was_salvaged(snap_compare: Any, app_for: MakeApp) -> None:
    salvaged = analyses.example(trust=doc.Trust(verdict="ok", reasons=()))
    assert snap_compare(app_for(salvaged), terminal_size=SMALL, run_before=settle)


def test_a_file_that_cannot_be_read(snap_compare: Any) -> None:
    def analyse(report: Report) -> Opened:
        raise UnreadableTraceError(
            "the file ends before the first event",
            where="trace.json, byte 4,096",
            why="the program was ended while it wrote the trace",
            fix="record it again and let export_chrome_trace finish",
        )

    app = AdvisorApp("trace.json", Job(analyse), look_for({}, "utf-8", "truecolor"))
    assert snap_compare(app, terminal_size=SMALL, run_before=settle)


def _guessed() -> doc.Analysis:
    steps = doc.Steps(source="inferred:Optimizer.step", count=7, used=6, excluded=())
    found = tuple(replace(one, confidence="low") for one in analyses.example().findings)
    return analyses.example(
        trace=analyses.trace_info(steps=steps), findings=found, repairs=(), trust=doc.Trust(verdict="ok", reasons=())
    )


def _too_few() -> doc.Analysis:
    base = analyses.example()
    steps = doc.Steps(source="ProfilerStep", count=1, used=1, excluded=())
    rows = base.steps[-1:]
    figures = analyses.summary(rows, base.summary.verdict, 148 * analyses.MS, base.findings)
    found = tuple(replace(one, steps=doc.SeenSteps(seen=1, of=1)) for one in base.findings)
    return replace(
        base,
        trace=analyses.trace_info(steps=steps),
        steps=rows,
        summary=figures,
        findings=found,
        slowest=None,
        repairs=(),
        trust=doc.Trust(verdict="ok", reasons=()),
    )


@pytest.mark.parametrize("make", [_guessed, _too_few, analyses.cpu_only, analyses.no_steps, analyses.unusable])
def test_what_must_be_known_before_believing_a_figure(
    snap_compare: Any, app_for: MakeApp, make: Callable[[], doc.Analysis]
) -> None:
    assert snap_compare(app_for(make()), terminal_size=SMALL, run_before=settle)


def test_a_rule_that_crashed(snap_compare: Any, app_for: MakeApp) -> None:
    async def open_page(pilot: Any) -> None:
        await settle(pilot)
        await pilot.press("5")
        await settle(pilot)
        table = pilot.app.screen.query_one(CheckTable)
        while table.check.state != "crashed":
            await pilot.press("j")
        await pilot.press("enter")
        await settle(pilot)

    assert snap_compare(app_for(analyses.example()), terminal_size=SMALL, run_before=open_page)


def test_a_filter_that_nothing_matches(snap_compare: Any, app_for: MakeApp) -> None:
    async def filtered(pilot: Any) -> None:
        await settle(pilot)
        await pilot.press("slash", *"sev:high", "space", *"cat:x", "enter")
        await settle(pilot)

    assert snap_compare(app_for(analyses.example()), terminal_size=SMALL, run_before=filtered)


@pytest.mark.parametrize(
    "look",
    [
        look_for({}, "utf-8", "standard"),
        look_for({"NO_COLOR": "1"}, "utf-8", "truecolor"),
        look_for({}, "ascii", "256"),
    ],
    ids=["16-colours", "no-colour", "ascii"],
)
def test_poor_terminals(snap_compare: Any, app_for: MakeApp, look: Look) -> None:
    assert snap_compare(app_for(analyses.example(), look), terminal_size=SMALL, run_before=settle)
