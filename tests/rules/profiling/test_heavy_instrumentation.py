"""PG004: Python stacks on a busy host, or steps that were timed without the profiler as well."""

from __future__ import annotations

import pytest

from analyzer.finding import Severity, State
from building.builders import TraceBuilder
from rules.profiling.heavy_instrumentation import RULE
from running.one_rule import judged, run


def stacked(events: int = 600) -> TraceBuilder:
    """Three steps of 10 ms with `events` Python calls in all."""
    builder = TraceBuilder(top={"with_stack": 1})
    for number in range(3):
        at = number * 10_000
        builder.step(number, at, 10_000).launch(at, kernel_start=at + 10, kernel_dur=9_990)
    for number in range(events):
        builder.python("train.py(8): step", number * 30_000 / events, 1)
    return builder


def timed(unprofiled_ns: int, lacked: float = 0.0) -> TraceBuilder:
    builder = TraceBuilder(advisor={"unprofiled_step_ns": unprofiled_ns, "core_wait_ratio": lacked})
    for number in range(3):
        builder.step(number, number * 10_000, 10_000).launch(
            number * 10_000, kernel_start=number * 10_000 + 10, kernel_dur=9_990
        )
    return builder


def test_fires_on_stacks_of_a_busy_host() -> None:
    found = judged(RULE, stacked(700))
    assert (found.severity, found.ns_per_step) == (Severity.INFO, 0)
    assert "24 events a millisecond" in found.finding.why or "23 events a millisecond" in found.finding.why


@pytest.mark.parametrize(("events", "state"), [(560, State.CLEAR), (640, State.FIRED)])
def test_boundary_of_events(events: int, state: State) -> None:
    assert run(RULE, stacked(events)).state is state


@pytest.mark.parametrize(("unprofiled", "state"), [(7_800_000, State.CLEAR), (7_600_000, State.FIRED)])
def test_boundary_of_the_slowdown(unprofiled: int, state: State) -> None:
    assert run(RULE, timed(unprofiled)).state is state


@pytest.mark.parametrize(("lacked", "explained"), [(0.3, False), (0.4, True)])
def test_says_where_a_busy_machine_explains_the_slowdown(lacked: float, explained: bool) -> None:
    # 10 ms instead of 5: with 35 % less it would be within 1.3 times.
    assert ("enough to explain" in judged(RULE, timed(5_000_000, lacked)).finding.why) is explained


@pytest.mark.parametrize(("lacked", "open_"), [(0.04, False), (0.06, True)])
def test_blames_the_profiler_only_where_the_thread_had_its_core(lacked: float, open_: bool) -> None:
    assert ("cannot be told" in judged(RULE, timed(5_000_000, lacked)).finding.why) is open_
