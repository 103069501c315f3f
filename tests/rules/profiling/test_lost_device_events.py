"""PG005: launches without their kernels."""

from __future__ import annotations

import pytest

from analyzer.finding import Severity, State
from building.builders import TraceBuilder
from rules.profiling.lost_device_events import RULE
from running.one_rule import judged, run


def losing(lost: int, of: int = 40) -> TraceBuilder:
    """Marked steps with `of` launches in all, `lost` of which, spread over the steps, have no kernel."""
    builder = TraceBuilder()
    for number in range(4):
        builder.step(number, number * 10_000, 10_000)
    for number in range(of):
        step, place = divmod(number, of // 4)
        at = step * 10_000 + place * 40_000 / of
        if place * 4 + step < lost:
            builder.runtime("cudaLaunchKernel", at, 5)
        else:
            builder.launch(at, kernel_start=at + 10, kernel_dur=500)
    return builder


def test_fires_with_the_number_lost() -> None:
    found = judged(RULE, losing(10))
    assert (found.severity, found.ns_per_step) == (Severity.INFO, 0)
    assert "10 of 40 launches (25 %) have no kernel" in found.finding.why
    assert "ProfilerActivity.CUDA" in found.finding.fix[0].code


@pytest.mark.parametrize(("lost", "state"), [(3, State.CLEAR), (4, State.FIRED)])
def test_boundary(lost: int, state: State) -> None:
    assert run(RULE, losing(lost)).state is state


def test_it_runs_even_where_nothing_else_is_believed() -> None:
    assert run(RULE, losing(40)).state is State.FIRED


def test_quiet_on_a_machine_without_device() -> None:
    builder = TraceBuilder(None)
    builder.step(0, 0, 1_000).op("aten::linear", 0, 900)
    assert run(RULE, builder).state is State.CLEAR
