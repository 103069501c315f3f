"""PG008: the profiler flushes its buffers while the device idles."""

from __future__ import annotations

import pytest

from analyzer.finding import Severity, State
from building.builders import TraceBuilder
from rules.profiling.profiler_artefacts import RULE
from running.one_rule import judged, run


def flushing(dur: float = 1_000) -> TraceBuilder:
    """Three steps of 10 ms, idle in their second half; one buffer flush of `dur` there."""
    builder = TraceBuilder()
    for number in range(3):
        at = number * 10_000
        builder.step(number, at, 10_000).launch(at, kernel_start=at + 10, kernel_dur=5_000)
    builder.event("Buffer Flush", "overhead", 6_000, dur)
    return builder


def test_fires_with_the_time_lost() -> None:
    found = judged(RULE, flushing())
    assert (found.severity, found.ns_per_step) == (Severity.INFO, 0)
    assert "takes 1.0 ms (3.3 %) of the window" in found.finding.why


@pytest.mark.parametrize(("dur", "state"), [(290, State.CLEAR), (310, State.FIRED)])
def test_boundary(dur: float, state: State) -> None:
    assert run(RULE, flushing(dur)).state is state


def test_quiet_beside_a_busy_device() -> None:
    builder = TraceBuilder()
    for number in range(3):
        at = number * 10_000
        builder.step(number, at, 10_000).launch(at, kernel_start=at + 10, kernel_dur=9_990)
    builder.event("Buffer Flush", "overhead", 6_000, 2_000)
    assert run(RULE, builder).state is State.CLEAR
