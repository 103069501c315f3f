"""`advisor tune` on a terminal: candidates and their step times while it runs, and a key that keeps what was measured."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest
from textual.pilot import Pilot

from analyzer.analysis.tuning import Promise, TrialDocument, TrialVerdict, Tuning
from analyzer.tui.draw.tuning import lines, times
from analyzer.tui.look.glyphs import ASCII, UNICODE
from analyzer.tui.look.terminal import look_for
from analyzer.tui.tuning.app import TuningApp, Work
from analyzer.tune import events
from analyzer.tune.live import Live
from traces.errors import UntrustedTraceError

MS = 1_000_000
PLAN = events.Planned(
    (
        events.PlannedChange("workers", "Loader workers", Promise(promised_ratio=0.64, promised_kind="estimate")),
        events.PlannedChange("collector", "Garbage collector", Promise(promised_ratio=0.02, promised_kind="bound")),
    )
)


def judged(change: str, verdict: TrialVerdict, measured: float | None, reason: str = "") -> events.Judged:
    around = (None, None) if measured is None else (measured - 0.03, measured + 0.03)
    return events.Judged(
        TrialDocument(
            change=change, title="", rules=("DL001",), numerics="same", promised_ratio=0.64, promised_kind="estimate",
            measured_ratio=measured, low_ratio=around[0], high_ratio=around[1], verdict=verdict, reason=reason,
        )
    )  # fmt: skip


STORY: tuple[events.Event, ...] = (
    PLAN,
    events.Running("", "", 1),
    events.Baseline(412.0 * MS, 412.0 * MS, 0.019),
    events.Running("workers", "workers=2", 1),
    events.Timed("workers", "workers=2", 148.0 * MS),
    events.Running("workers", "workers=4", 1),
    events.Timed("workers", "workers=4", None),
    events.Running("workers", "workers=2", 2),
)


def told(*story: events.Event) -> Live:
    live = Live("train.py --epochs 3", 600)
    for event in story:
        live.hear(event)
    return live


def drawn(live: Live, width: int = 100, *, stopping: bool = False) -> list[str]:
    return [one.plain.rstrip() for one in lines(live, width, 65, UNICODE, stopping=stopping)]


def test_a_promise_of_the_recorded_step_is_told_so() -> None:
    promise = Promise(promised_ratio=0.96, promised_kind="bound", promised_of_recorded=True)
    plan = events.Planned((events.PlannedChange("workers", "", promise),))
    shown = drawn(told(plan, events.Baseline(412.0 * MS, 412.0 * MS, 0.019)))
    assert any(one.strip() == "promised of the step as recorded" for one in shown)
    assert not any("as recorded" in one for one in drawn(told(*STORY)))


def test_each_change_shows_its_promise_its_steps_and_what_runs() -> None:
    shown = drawn(told(*STORY))
    assert shown[0].startswith("train.py --epochs 3")
    assert shown[0].endswith("1:05 of 10 min")
    assert any("as it is  412 ms a step  noise 1.9 %  1 run" in line for line in shown)
    (row,) = [line for line in shown if line.startswith(f"{UNICODE.current} workers")]
    assert "up to about 64 %" in row
    assert "148 ms" in row
    assert "runs: workers=2, turn 2" in row
    assert any(line.strip() == "2 148 ms · 4 no step" for line in shown)
    assert any("collector" in line and line.endswith("waits") for line in shown)


def test_what_is_over_shows_what_came_of_it() -> None:
    live = told(
        *STORY, judged("workers=2", "helps", 0.64), judged("collector", "not run", None, "its ceiling is below")
    )
    shown = drawn(live, stopping=True)
    assert any("workers=2" in line and "64 % less (61 to 67 %)  helps" in line for line in shown)
    assert any("its ceiling is below" in line for line in shown)
    assert shown[-1] == "Stopping: what was measured is kept."
    assert drawn(told(*STORY[:1]), stopping=True)[-1] == "Stopping: nothing was measured yet."


def test_combinations_get_rows_of_their_own() -> None:
    live = told(*STORY, events.Running("together", "together", 1), events.Timed("together", "together", 100.0 * MS))
    assert any(line.strip().startswith("together") and "100 ms" in line for line in drawn(live))


@pytest.mark.parametrize("width", [20, 40, 84, 160])
def test_no_line_is_wider_than_the_screen_and_ascii_is_enough(width: int) -> None:
    live = told(*STORY, judged("workers=2", "helps", 0.64), events.Note("a note " * 60))
    for glyphs in (UNICODE, ASCII):
        found = lines(live, width, 65, glyphs, stopping=True)
        assert max(one.cell_length for one in found) <= width
    assert times(59.9, 90) == "0:59 of 1.5 min"


def app_of(work: Work) -> TuningApp:
    return TuningApp(Live("train.py", 600), work, look_for({}, "utf-8", "truecolor"))


def text_of(app: TuningApp) -> str:
    return "\n".join(strip.text.rstrip() for strip in app.screen._compositor.render_strips())


async def until(pilot: Pilot[Any], holds: Callable[[], bool]) -> None:
    while not holds():
        await pilot.pause(0.02)


@pytest.mark.asyncio
@pytest.mark.parametrize("key", ["ctrl+c", "q", "ctrl+q"])
async def test_a_key_ends_the_run_and_the_result_is_kept(key: str, tuning: Tuning) -> None:
    stopped = threading.Event()

    def work(tell: Callable[[events.Event], None], asked: Callable[[], bool]) -> Tuning:
        for event in STORY:
            tell(event)
        while not asked():
            stopped.wait(0.01)
        return tuning

    app = app_of(work)
    async with app.run_test(size=(110, 30)) as pilot:
        await until(pilot, lambda: "turn 2" in text_of(app))
        assert "148 ms" in text_of(app)
        await pilot.press(key)
        await until(pilot, lambda: app.result is not None)
    assert app.result is tuning


@pytest.mark.asyncio
@pytest.mark.parametrize("error", [UntrustedTraceError("why"), KeyboardInterrupt()])
async def test_what_goes_wrong_in_the_thread_ends_the_screen_and_is_kept_to_be_raised(error: BaseException) -> None:
    def work(tell: Callable[[events.Event], None], asked: Callable[[], bool]) -> Tuning:
        raise error

    app = app_of(work)
    async with app.run_test(size=(110, 30)) as pilot:
        await until(pilot, lambda: app.error is not None)
    assert app.error is error


@pytest.fixture
def tuning() -> Tuning:
    return Tuning(
        tool="0", script="train.py", arguments=(), machine="2 cores", torch=None, date="2026-11-22", seed=0, steps=40, warmup=10,
        baseline_step_ns=412 * MS, baseline_runs=4, noise_ratio=0.019, trials=(), recommended=(), together=None, by_hand=(),
        seconds=65.0, complete=False,
    )  # fmt: skip
