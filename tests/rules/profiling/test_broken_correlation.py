"""PG007: kernels that were launched before recording began."""

from __future__ import annotations

import pytest

from analyzer.finding import Severity, State
from building.builders import TraceBuilder
from rules.profiling.broken_correlation import RULE
from running.one_rule import judged, run


def unlinked(lost: int, of: int = 40) -> TraceBuilder:
    """Marked steps with `of` kernels, `lost` of which have no launch call."""
    builder = TraceBuilder()
    for number in range(4):
        builder.step(number, number * 10_000, 10_000)
    for number in range(of):
        at = number * 40_000 / of
        if number < lost:
            builder.kernel("before", at, 500, correlation=900_000 + number)
        else:
            builder.launch(at, kernel_start=at + 10, kernel_dur=500)
    return builder


def test_fires_with_the_number_unlinked() -> None:
    found = judged(RULE, unlinked(20))
    assert (found.severity, found.ns_per_step) == (Severity.INFO, 0)
    assert "20 of 40 kernels (50 %) have no launch call" in found.finding.why


@pytest.mark.parametrize(("lost", "state"), [(8, State.CLEAR), (9, State.FIRED)])
def test_boundary(lost: int, state: State) -> None:
    assert run(RULE, unlinked(lost)).state is state


def test_ids_that_repeat_the_correlation() -> None:
    builder = TraceBuilder()
    builder.step(0, 0, 40_000)
    for number in range(40):
        call = builder.runtime("cudaLaunchKernel", number * 1_000, 5)
        builder.kernel("k", number * 1_000 + 10, 500, correlation=call, **{"External id": call})
    builder.op("aten::linear", 0, 40_000)
    assert "repeat the correlation id" in judged(RULE, builder).finding.why


def test_quiet_without_kernels() -> None:
    builder = TraceBuilder(None)
    builder.step(0, 0, 1_000).op("aten::linear", 0, 900)
    assert run(RULE, builder).state is State.CLEAR
