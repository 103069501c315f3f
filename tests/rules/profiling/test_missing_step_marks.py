"""PG001: a recording without a single ProfilerStep."""

from __future__ import annotations

import pytest

from analyzer.finding import Severity, State
from building.builders import TraceBuilder
from building.other_devices import xpu
from rules.profiling.missing_step_marks import RULE
from running.one_rule import judged, run


def unmarked() -> TraceBuilder:
    builder = TraceBuilder()
    builder.launch(0, kernel_start=10, kernel_dur=900)
    return builder


def marked(steps: int) -> TraceBuilder:
    """A kernel a step, and no mark where there are no steps."""
    builder = TraceBuilder()
    for number in range(steps):
        builder.step(number, number * 1_000, 1_000).launch(
            number * 1_000, kernel_start=number * 1_000 + 10, kernel_dur=900
        )
    return builder if steps else unmarked()


def test_fires_without_a_saving() -> None:
    found = judged(RULE, unmarked())
    assert (found.severity, found.ns_per_step) == (Severity.INFO, 0)
    assert "no step marks" in found.finding.why
    assert "prof.step()" in found.finding.fix[0].code


@pytest.mark.parametrize("steps", [1, 6])
def test_quiet_with_marks(steps: int) -> None:
    result = run(RULE, marked(steps))
    assert result.state is State.CLEAR
    assert str(steps) in result.reason


def on_the_host(op: str) -> TraceBuilder:
    builder = TraceBuilder(None)
    builder.op(op, 0, 900)
    return builder


@pytest.mark.parametrize(
    ("builder", "activities"),
    [
        (unmarked(), "CPU, ProfilerActivity.CUDA]"),
        (xpu(unmarked()), "CPU, ProfilerActivity.XPU]"),
        (on_the_host("aten::cudnn_convolution"), "CPU, ProfilerActivity.CUDA]"),
        (on_the_host("aten::mkldnn_convolution"), "CPU]"),
    ],
    ids=["a GPU", "Intel's", "a GPU, not recorded", "none"],
)
def test_what_is_advised_to_record_is_what_the_program_uses(builder: TraceBuilder, activities: str) -> None:
    assert f"activities=[ProfilerActivity.{activities}" in judged(RULE, builder).finding.fix[0].code
