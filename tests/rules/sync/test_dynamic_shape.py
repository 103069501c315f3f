"""SY004: a loss that selects by a boolean mask, so that the host waits for the size of the result."""

from __future__ import annotations

import pytest
import torch
from torch.profiler import ProfilerActivity, profile

from analyzer.finding import Confidence, Severity, State
from building.builders import TraceBuilder
from rules.sync.blocking_copy_out import RULE as COPY_OUT
from rules.sync.dynamic_shape import _MASKED_RUN, RULE
from rules.sync.scalar_read import RULE as SCALAR
from running.one_rule import judged, run

STEP = 100_000


def world(*, refill: float = 20_000, name: str = "aten::index", waits: bool = True) -> TraceBuilder:
    """Steps of 100 ms: `refill` us of dispatch, a kernel to the end of the step, and an op that waits for it."""
    builder = TraceBuilder()
    for number in range(3):
        at = number * STEP
        builder.step(number, at, STEP)
        builder.op("aten::linear", at, refill + 5)
        builder.launch(at + refill, kernel_start=at + refill + 5, kernel_dur=STEP - refill - 105, op=None)
        builder.op(name, at + STEP - 50_000, 50_000)
        builder.op("aten::nonzero", at + STEP - 50_000, 50_000)
        if waits:
            builder.copy("DtoH", at + STEP - 50_000, 50_000, start=at + STEP - 100, dur=100, size=8, op=None)
    return builder


def test_fires_with_the_run_ahead_as_bound() -> None:
    found = judged(RULE, world())
    assert found.finding.saving.claims.total_ns == 2 * 20_005_000
    assert (found.severity, found.confidence) == (Severity.MEDIUM, Confidence.HIGH)
    assert "`aten::index`" in found.finding.why


def test_the_wait_is_not_claimed_by_the_rules_on_reads_and_copies() -> None:
    assert run(SCALAR, world()).state is State.NOT_APPLICABLE
    assert run(COPY_OUT, world()).state is State.NOT_APPLICABLE


def test_quiet_on_the_cpu_and_with_integer_indices() -> None:
    assert run(RULE, world(waits=False)).state is State.NOT_APPLICABLE


def test_the_fix_suits_the_op() -> None:
    fixes = judged(RULE, world(name="aten::repeat_interleave")).finding.fix
    assert "output_size" in fixes[0].code


def test_filling_by_a_mask_waits_for_nothing_and_is_not_replaced() -> None:
    x, mask = torch.ones(4), torch.tensor([True, False, True, False])
    with profile(activities=[ProfilerActivity.CPU]) as recorded:
        x[mask] = 0
        x[mask] = x[mask]
    names = [event.name for event in recorded.events()]
    assert "aten::masked_fill_" in names
    assert names.index("aten::masked_fill_") < names.index("aten::nonzero")
    assert "x[mask] = 0" not in _MASKED_RUN.code


@pytest.mark.parametrize(("refill", "state"), [(2_900, State.CLEAR), (3_100, State.FIRED)])
def test_boundary(refill: float, state: State) -> None:
    assert run(RULE, world(refill=refill)).state is state


def test_without_a_device_the_question_does_not_arise() -> None:
    builder = TraceBuilder(None)
    builder.step(0, 0, STEP)
    builder.op("aten::nonzero", 0, STEP)
    assert run(RULE, builder).state is State.NOT_APPLICABLE


@pytest.mark.parametrize(
    ("ops", "told"), [(("aten::index", "aten::linear", "aten::index_add_"), True), (("aten::mul",), False)]
)
def test_experts_that_are_chosen_by_masks_are_computed_at_once(ops: tuple[str, ...], told: bool) -> None:
    builder = TraceBuilder()
    for number in range(3):
        at = number * STEP
        builder.step(number, at, STEP)
        for expert in range(16):
            begin = at + expert * 6_000
            builder.op("aten::nonzero", begin, 2_000)
            builder.copy("DtoH", begin + 10, 1_980, start=begin + 1_900, dur=80, size=8, op=None)
            for index, op in enumerate(ops):
                start = begin + 2_100 + index * 1_000
                builder.op(op, start, 900)
                builder.launch(start + 10, kernel_start=start + 20, kernel_dur=800, name="gemm", op=None)
    assert any("grouped_mm" in fix.code for fix in judged(RULE, builder).finding.fix) is told
