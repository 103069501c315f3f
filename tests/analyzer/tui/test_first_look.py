"""What the loading screen shows of a trace before its rules have run: the figures of the document, and that they are not judged."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from analyzer.analysis.first_look import FirstLook
from analyzer.explain import Explained, Options, analyse_with_facts
from analyzer.page.step.waterfall import largest_first, parts_of
from analyzer.tui.answer.opened import Opened
from analyzer.tui.app import AdvisorApp
from analyzer.tui.draw.first_look import first_look
from analyzer.tui.look.glyphs import UNICODE
from analyzer.tui.look.terminal import look_for
from analyzer.tui.screens.findings import FindingsScreen
from analyzer.tui.screens.loading import LoadingScreen
from analyzer.tui.widgets.first_look import FirstLookBox
from analyzer.tui.widgets.progress import Progress
from analyzer.tui.work.job import Cancelled, Job, Report
from building.builders import TraceBuilder
from rules import RULES
from showing.ui import loader_bound, settle, text_of

LOOK = look_for({}, "utf-8", "truecolor")


class Watcher:
    """Keeps what it is told, in order."""

    def __init__(self) -> None:
        self.told: list[str | FirstLook] = []

    def __call__(self, stage: str, done: int, total: int) -> None:
        self.told.append(stage)

    def look_first(self, look: FirstLook) -> None:
        self.told.append(look)


def watched(builder: TraceBuilder, folder: Path) -> tuple[Explained, list[str | FirstLook]]:
    watcher = Watcher()
    return analyse_with_facts(builder.write(folder / "trace.json"), Options(), watcher), watcher.told


def test_it_comes_before_any_rule_and_is_what_the_document_says(tmp_path: Path) -> None:
    explained, told = watched(loader_bound(), tmp_path)
    at = next(place for place, one in enumerate(told) if isinstance(one, FirstLook))
    assert told[at - 1] == "measuring"
    assert told.index("checking") > at
    look, summary = told[at], explained.analysis.summary
    assert isinstance(look, FirstLook)
    for name in ("step_ns", "used_steps", "gpu_busy_ratio", "waterfall"):
        assert getattr(look, name) == getattr(summary, name)


def test_each_rule_is_counted(tmp_path: Path) -> None:
    done: list[tuple[int, int]] = []

    def watch(stage: str, at: int, total: int) -> None:
        if stage == "checking":
            done.append((at, total))

    analyse_with_facts(loader_bound().write(tmp_path / "trace.json"), Options(), watch)
    assert done == [(number, len(RULES)) for number in range(len(RULES) + 1)]


def test_where_steps_are_not_told_apart_none_is_named(tmp_path: Path) -> None:
    builder = TraceBuilder()
    builder.op("aten::mm", 0, 800)
    _, told = watched(builder, tmp_path)
    look = next(one for one in told if isinstance(one, FirstLook))
    said = first_look(look, 80, UNICODE).plain
    assert "800 us recorded, no steps are told apart." in said
    assert "GPU" not in said


@pytest.mark.parametrize("width", [20, 34, 60, 94])
def test_no_line_is_cut(tmp_path: Path, width: int) -> None:
    _, told = watched(loader_bound(), tmp_path)
    look = next(one for one in told if isinstance(one, FirstLook))
    lines = first_look(look, width, UNICODE).plain.splitlines()
    named = [line for line in lines if line.startswith(UNICODE.severity["medium"])]
    shown = largest_first(parts_of(look.waterfall, look.used_steps, on_device=True))
    assert len(named) == len(shown) > 2
    for line, part in zip(named, shown, strict=True):
        figures, _, meant = line.partition("%")
        assert part.time in figures
        assert meant.strip() in ("", part.meaning)
    # Where there is room, each says what it is.
    assert width < 94 or all(line.endswith(part.meaning) for line, part in zip(named, shown, strict=True))


async def test_the_screen_shows_it_until_the_answer_is_there(tmp_path: Path) -> None:
    explained, told = watched(loader_bound(), tmp_path)
    look = next(one for one in told if isinstance(one, FirstLook))
    gate = threading.Event()

    def analyse(report: Report) -> Opened:
        report("measuring", 0, 1)
        report.look_first(look)
        report("checking", 3, 98)
        gate.wait(20)
        return Opened((explained,))

    app = AdvisorApp("trace.json.gz", Job(analyse), LOOK)
    async with app.run_test(size=(120, 40)) as pilot:
        while not (isinstance(app.screen, LoadingScreen) and app.screen.query_one(FirstLookBox).display):
            await pilot.pause(0.01)
        while "input wait 40 ms" not in text_of(app):
            await pilot.pause(0.02)
        shown = text_of(app)
        assert "First look · not judged yet" in shown
        assert "100 ms a step, mean of" in shown
        gate.set()
        await settle(pilot)
        assert isinstance(app.screen, FindingsScreen)


async def test_what_comes_while_help_lies_over_it_is_there_afterwards() -> None:
    """Stages that were told meanwhile were to come for good, below the one that was current."""
    gate, told, over = threading.Event(), threading.Event(), threading.Event()

    def analyse(report: Report) -> Opened:
        gate.wait(20)
        report("reading", 5, 5)
        report("measuring", 0, 1)
        report("checking", 3, 98)
        told.set()
        over.wait(20)
        raise Cancelled

    app = AdvisorApp("trace.json.gz", Job(analyse), LOOK)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("question_mark")
        await pilot.pause()
        assert not isinstance(app.screen, LoadingScreen)
        gate.set()
        while not told.is_set():
            await pilot.pause(0.01)
        await pilot.pause()
        await pilot.press("escape")
        await pilot.pause()
        assert list(app.screen.query_one(Progress)._stages) == ["reading", "measuring", "checking"]
        over.set()


def test_of_the_baseline_none_is_shown() -> None:
    """Its figures would be taken for those of the trace that was asked for."""
    posted: list[object] = []
    report = Report(posted.append, lambda: True)
    assert not hasattr(report.only_stages, "look_first")
    report.only_stages("reading", 1, 2)
    assert len(posted) == 1


def test_of_one_stage_the_screen_is_told_now_and_then_and_its_end_always() -> None:
    posted: list[object] = []
    report = Report(posted.append, lambda: True)
    for done in range(1000):
        report("checking", done, 1000)
    report("checking", 1000, 1000)
    assert [one.done for one in (posted[0], posted[-1])] == [0, 1000]  # type: ignore[attr-defined]
    assert len(posted) < 500
