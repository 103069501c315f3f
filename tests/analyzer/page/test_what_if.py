"""What a choice of findings gives: the same in the engine, the document, the browser's script and the terminal UI."""

from __future__ import annotations

import itertools
import json
import re
from pathlib import Path

import msgspec
import pytest

from analyzer import analysis as doc
from analyzer.analysis import Analysis
from analyzer.cli.main import main
from analyzer.engine.totals import saved_ns
from analyzer.explain import Explained, Options, analyse_with_facts
from analyzer.opening.saved import load
from analyzer.page.assumed import sentences
from analyzer.page.findings.what_if import assumed, choices, without
from analyzer.page.step.cut import cut
from analyzer.report import html
from analyzer.report.redact import redact
from analyzer.report.redact.here import project
from analyzer.tui.widgets.step_strip import StepStrip
from analyzer.tui.widgets.verdict import Verdict
from building.builders import TraceBuilder
from running.recorded import ROOT
from showing import ui
from showing.browser import document_and_requests, needs_chromium

SAMPLE = ROOT / "traces/samples/baseline.json.gz"


def slow_gpu() -> TraceBuilder:
    """Steps that wait for the loader, read a scalar of the device, and run kernels in single precision."""
    builder = ui.loader_bound(memory=False)
    for number in range(4):
        builder.python("aten::item", number * 100_000 + 96_500, 3_000)
    return builder


@pytest.fixture(scope="module", params=["cpu", "gpu"])
def explained(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Explained:
    if request.param == "cpu":
        return analyse_with_facts(SAMPLE, Options())
    return analyse_with_facts(slow_gpu().write(tmp_path_factory.mktemp("traces") / "gpu.json"), Options())


def every_choice(analysis: Analysis, most: int = 64) -> list[tuple[str, ...]]:
    assert analysis.what_if is not None
    ids = analysis.what_if.ids
    subsets = itertools.chain.from_iterable(itertools.combinations(ids, size) for size in range(len(ids) + 1))
    return list(itertools.islice(subsets, most))


def test_each_choice_is_what_the_engine_says_of_it(explained: Explained) -> None:
    analysis, facts = explained.analysis, explained.facts
    assert facts is not None
    for ids in every_choice(analysis):
        savings = [explained.savings[one] for one in ids]
        steps = facts.steps.count
        found = assumed(analysis, ids)
        assert found.step_ns == (facts.steps.total_ns - saved_ns(facts, savings)) // steps
        assert found.likely_step_ns == (facts.steps.total_ns - saved_ns(facts, savings, usual=True)) // steps
        assert abs(sum(part.ns for part in found.waterfall) - found.window_ns) <= len(found.waterfall)


def test_all_cards_give_the_headline(explained: Explained) -> None:
    analysis = explained.analysis
    found = assumed(analysis, [card.id for card in analysis.cards])
    assert (found.step_ns, found.likely_step_ns) == (
        analysis.summary.reachable_step_ns,
        analysis.summary.likely_step_ns,
    )


def test_no_choice_takes_compute_that_no_finding_claims(explained: Explained) -> None:
    analysis = explained.analysis
    assert analysis.what_if is not None
    compute = next(part.ns for part in analysis.summary.waterfall if part.cause == "compute")
    claimed = sum(piece.ns for piece in analysis.what_if.stated.claims if piece.cause == "compute")
    shorter = sum(piece.ns for piece in analysis.what_if.stated.shorter if piece.cause == "compute")
    for ids in every_choice(analysis):
        left = assumed(analysis, ids)
        of_compute = next(part.ns for part in left.waterfall if part.cause == "compute")
        assert compute - claimed - shorter <= of_compute <= compute
        assert left.window_ns >= of_compute


def test_nothing_chosen_changes_nothing(explained: Explained) -> None:
    analysis = explained.analysis
    assert without(analysis, ()) is analysis
    found = assumed(analysis, ())
    assert found.step_ns == analysis.summary.window_ns // analysis.summary.used_steps
    assert found.waterfall == analysis.summary.waterfall


def made(shorter: tuple[doc.ShorterTime, ...], *, claims: tuple[doc.ClaimedTime, ...] = ()) -> Analysis:
    """One step of 100 ns, 80 of them compute and 20 input, and three findings."""
    from showing import analyses

    base = analyses.example()
    cards = tuple(msgspec.structs.replace(one, id=f"XX00{number}-0000") for number, one in enumerate(base.findings[:3]))
    waterfall = tuple(
        msgspec.structs.replace(part, ns={"compute": 80, "input": 20}.get(part.cause, 0), ratio=0.0)
        for part in base.summary.waterfall
    )
    step = msgspec.structs.replace(base.summary.step_ns, mean=100)
    summary = msgspec.structs.replace(
        base.summary, window_ns=100, used_steps=1, waterfall=waterfall, step_ns=step, reachable_step_ns=1
    )
    together = doc.Together(claims=claims, shorter=shorter, unplaced=(), shrinking=("compute",))
    model = doc.WhatIf(ids=tuple(one.id for one in cards), kinds=("bound",) * 3, stated=together)
    return msgspec.structs.replace(base, findings=cards, summary=summary, what_if=model)


def test_two_ways_to_shorten_a_kernel_act_one_after_the_other_and_one_way_counts_once() -> None:
    parts = (
        doc.Shortening(by=0, way=0, ratio=0.5), doc.Shortening(by=1, way=0, ratio=0.2), doc.Shortening(by=2, way=1, ratio=0.5),
    )  # fmt: skip
    analysis = made((doc.ShorterTime(parts=parts, cause="compute", ns=80),))
    step = {ids: assumed(analysis, [f"XX00{one}-0000" for one in ids]).step_ns for ids in [(0,), (1,), (0, 1), (0, 2)]}
    assert step == {(0,): 60, (1,): 84, (0, 1): 60, (0, 2): 40}


def test_time_that_two_claim_goes_once_and_no_more_kernels_go_than_run() -> None:
    claims = (doc.ClaimedTime(by=(0, 1), cause="input", ns=20),)
    shorter = (doc.ShorterTime(parts=(doc.Shortening(by=2, way=0, ratio=1.0),), cause="compute", ns=500),)
    analysis = made(shorter, claims=claims)
    both = assumed(analysis, ("XX000-0000", "XX001-0000"))
    assert both.step_ns == assumed(analysis, ("XX000-0000",)).step_ns == 80
    assert assumed(analysis, ("XX002-0000",)).step_ns == 20


def test_a_step_is_cut_where_findings_claim_it() -> None:
    from showing import analyses

    finding = analyses.example().findings[0]
    where = doc.Intervals(title="", step=1, spans=((10, 30), (20, 40), (90, 100)), left_out=0, left_out_ns=0)
    spans = tuple(
        doc.Span(start_ns=at, dur_ns=length, label="", cause="compute") for at, length in ((0, 15), (15, 10), (35, 25))
    )
    shown = doc.Timeline(step=1, dur_ns=100, lanes=(doc.Lane(name="CPU", kind="host", spans=spans),))
    left = cut(shown, [msgspec.structs.replace(finding, evidence=(where,))])
    assert left.dur_ns == 60
    assert [(one.start_ns, one.dur_ns) for one in left.lanes[0].spans] == [(0, 10), (10, 20)]


def test_a_report_that_is_opened_again_says_the_same(explained: Explained, tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    shown = redact(explained.analysis, project())
    path.write_text(html.render(shown), "utf-8")
    again = load(path)
    assert again is not None
    ids = choices(explained.analysis)
    assert ids
    assert assumed(again, ids) == assumed(explained.analysis, ids)


def command(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(["explain", str(SAMPLE), "--isolated", *arguments]) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize("form", ["text", "markdown", "html"])
def test_assume_is_said_in_every_document(form: str, capsys: pytest.CaptureFixture[str]) -> None:
    document = json.loads(command(capsys, "--assume", "dl006,OP001", "--format", "json"))
    analysis = msgspec.convert(document, Analysis)
    assert analysis.assumed is not None
    assert analysis.assumed.rules == ("DL006", "OP001")
    said = next(sentences(analysis, analysis.assumed)).partition(":")[0]
    text = re.sub(r"<[^>]*>", "", command(capsys, "--assume", "dl006,OP001", "--format", form)).replace("\xa0", " ")
    assert said in " ".join(text.replace("&nbsp;", " ").split())


def test_a_rule_that_found_nothing_cannot_be_assumed_fixed(capsys: pytest.CaptureFixture[str]) -> None:
    for code, why in (("XF001", "found here: "), ("NOPE", "no rule")):
        assert main(["explain", str(SAMPLE), "--isolated", "--assume", code]) == 2
        assert why in capsys.readouterr().err


@needs_chromium
@pytest.mark.slow
def test_the_page_does_the_same_sum(explained: Explained, tmp_path: Path) -> None:
    """The script of the page, in a browser, for each choice among the cards: step, likely step and causes, to the nanosecond."""
    analysis = explained.analysis
    ids = choices(analysis)
    assert ids
    for number, chosen in enumerate([(), ids, ids[:1]]):
        found = assumed(analysis, chosen)
        page = tmp_path / f"{number}.html"
        page.write_text(html.render(msgspec.structs.replace(analysis, assumed=found if chosen else None)), "utf-8")
        document, asked = document_and_requests(page, tmp_path / f"profile{number}")
        said = re.search(r"<output([^>]*)>(.*?)</output>", document)
        assert said is not None
        values = dict(re.findall(r'data-([a-z]+)="([^"]*)"', said[1]))
        assert int(values["step"]) == found.step_ns
        assert int(values["likely"]) == found.likely_step_ns
        assert [int(one) for one in values["causes"].split()] == [part.ns for part in found.waterfall]
        assert [one for one in asked if "example" in one or "advisor" in one] == []
        if chosen:
            expected = " ".join(sentences(analysis, found))
            assert said[2].replace("&nbsp;", " ").replace("\xa0", " ") == expected
            assert int(values["drawn"]) == without(analysis, chosen).timeline.dur_ns


@pytest.mark.asyncio
async def test_space_ticks_a_finding_and_the_screen_redraws(tmp_path: Path) -> None:
    from analyzer.tui.app import AdvisorApp
    from analyzer.tui.look.terminal import current_look
    from analyzer.tui.work.job import job_for

    trace = ui.loader_bound().write(tmp_path / "trace.json")
    analysis = analyse_with_facts(trace, Options(select=("DL001",))).analysis
    app = AdvisorApp("trace.json", job_for([trace], Options(select=("DL001",)), None, None), current_look())
    async with ui.running(app) as pilot:
        await pilot.press("space")
        await ui.settle(pilot)
        found = assumed(analysis, (analysis.findings[0].id,))
        shown = app.screen.query_one(StepStrip).shown
        assert shown is not None
        assert shown.summary.waterfall == found.waterfall
        assert shown.timeline == without(analysis, (analysis.findings[0].id,)).timeline
        assert app.screen.query_one(Verdict).assumed == found
        assert "What if DL001 were fixed" in ui.text_of(app)
        await pilot.press("space")
        await ui.settle(pilot)
        assert app.screen.query_one(Verdict).assumed is None
        assert "What if" not in ui.text_of(app)
