"""SY002: a loop that copies its outputs to the host in every step and runs dry while the host launches again."""

from __future__ import annotations

import pytest

from analyzer.finding import Confidence, Severity, State
from builders import TraceBuilder
from rules.sync.blocking_copy_out import RULE
from rules.sync.scalar_read import RULE as SCALAR
from worlds import judged, run

STEP = 100_000


def world(*, refill: float = 40_000, wait: float = 45_000, pinned: bool = False, size: int = 1 << 20) -> TraceBuilder:
    """Steps of 100 ms: `refill` us of dispatch, a kernel to the end of the step, and a copy that waits for it."""
    builder = TraceBuilder()
    for number in range(3):
        at = number * STEP
        builder.step(number, at, STEP)
        builder.op("aten::linear", at, refill + 5)
        builder.launch(at + refill, kernel_start=at + refill + 5, kernel_dur=STEP - refill - 105, op=None)
        call = 5 if pinned else wait
        builder.copy("DtoH", at + STEP - wait, call, start=at + STEP - 100, dur=100, size=size, pinned=pinned)
    return builder


def test_fires_with_the_run_ahead_as_bound() -> None:
    found = judged(RULE, world())
    assert found.finding.saving.claims.total_ns == 2 * 40_005_000
    assert (found.severity, found.confidence) == (Severity.HIGH, Confidence.HIGH)
    assert found.ratio == pytest.approx(2 * 40_005 / 300_000)
    assert "1.0 MiB a step" in found.finding.why
    assert "the copies themselves take 100 us" in found.finding.why


def test_quiet_where_nothing_waits_for_a_pinned_copy() -> None:
    assert run(RULE, world(pinned=True)).state is State.NOT_APPLICABLE


def test_a_single_value_is_the_business_of_sy001() -> None:
    small = world(size=4)
    assert run(RULE, small).state is State.NOT_APPLICABLE
    assert run(SCALAR, small).state is State.FIRED


@pytest.mark.parametrize(("refill", "state"), [(2_900, State.CLEAR), (3_100, State.FIRED)])
def test_boundary(refill: float, state: State) -> None:
    assert run(RULE, world(refill=refill)).state is state


def test_without_a_device_the_question_does_not_arise() -> None:
    builder = TraceBuilder(None)
    builder.step(0, 0, STEP)
    builder.op("aten::copy_", 0, STEP)
    assert run(RULE, builder).state is State.NOT_APPLICABLE
