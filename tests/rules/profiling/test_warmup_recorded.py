"""PG002: memory is allocated in the first of three steps of 10 ms."""

from __future__ import annotations

import pytest

from analyzer.finding import Severity, State
from building.builders import TraceBuilder
from rules.profiling.warmup_recorded import RULE
from running.one_rule import judged, run


def steady(steps: int = 3, dur: float = 10_000) -> TraceBuilder:
    """Marked steps, each with one kernel that fills it."""
    builder = TraceBuilder()
    for number in range(steps):
        at = number * dur
        builder.step(number, at, dur).launch(at, kernel_start=at + 10, kernel_dur=dur - 10)
    return builder


def warming(dur: float = 5_000, every_step: bool = False) -> TraceBuilder:
    builder = steady()
    for number in range(3 if every_step else 1):
        builder.runtime("cudaMalloc", number * 10_000 + 100, dur)
    return builder


def test_fires_with_the_share() -> None:
    found = judged(RULE, warming())
    assert (found.severity, found.ns_per_step) == (Severity.INFO, 0)
    assert "5.0 ms (17 %) in 1 start-up call" in found.finding.why


@pytest.mark.parametrize(("dur", "state"), [(1_450, State.CLEAR), (1_550, State.FIRED)])
def test_boundary(dur: float, state: State) -> None:
    assert run(RULE, warming(dur)).state is state


def test_a_habit_is_no_warm_up() -> None:
    result = run(RULE, warming(every_step=True))
    assert result.state is State.CLEAR
    assert "0 %" in result.reason


def test_quiet_on_a_steady_run() -> None:
    assert run(RULE, steady()).state is State.CLEAR
