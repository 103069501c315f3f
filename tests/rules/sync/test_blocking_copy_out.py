"""SY002: a loop that copies its outputs to the host in every step and runs dry while the host launches again."""

from __future__ import annotations

import pytest

from analyzer.finding import Confidence, Severity, State
from building.builders import TraceBuilder
from rules.sync.blocking_copy_out import RULE
from rules.sync.scalar_read import RULE as SCALAR
from running.one_rule import judged, run

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
    # Two times the refill, and the three copies, beside which nothing is computed.
    assert found.finding.saving.claims.total_ns == 2 * 40_005_000 + 3 * 100_000
    assert (found.severity, found.confidence) == (Severity.HIGH, Confidence.HIGH)
    assert found.ratio == pytest.approx((2 * 40_005 + 3 * 100) / 300_000)
    assert "1.0 MiB a step" in found.finding.why
    assert "the copies themselves take 100 us" in found.finding.why


def test_quiet_where_nothing_waits_for_a_pinned_copy() -> None:
    assert run(RULE, world(pinned=True)).state is State.NOT_APPLICABLE


def test_a_single_value_is_the_business_of_sy001() -> None:
    small = world(size=4)
    assert run(RULE, small).state is State.NOT_APPLICABLE
    assert run(SCALAR, small).state is State.FIRED


@pytest.mark.parametrize(("refill", "state"), [(2_750, State.CLEAR), (2_950, State.FIRED)])
def test_boundary(refill: float, state: State) -> None:
    assert run(RULE, world(refill=refill)).state is state


def masked(
    *, compute: float, copying: float, beside: bool = False, op: str = "aten::to", steps: int = 3, size: int = 256 << 20
) -> TraceBuilder:
    """Steps of 100 ms: a kernel, then a copy to the host that it waits for, alone or beside a kernel; then the host's own work."""
    builder = TraceBuilder()
    for number in range(steps):
        at = number * STEP
        builder.step(number, at, STEP)
        builder.op("aten::linear", at, 60)
        builder.launch(at + 40, kernel_start=at + 60, kernel_dur=compute, op=None)
        if beside:
            builder.launch(at + 90, kernel_start=at + 60 + compute, kernel_dur=copying, stream=9, op="aten::mm")
        begin, end = at + 110, at + 60 + compute + copying + 5
        builder.op(op, begin, end - begin + 20)
        builder.op("aten::copy_", begin + 5, end - begin + 10)
        start = at + 60 + compute
        builder.copy("DtoH", begin + 10, end - begin - 10, start=start, dur=copying, size=size, op=None, stream=12)
    return builder


@pytest.mark.parametrize(("built", "aside"), [(masked(compute=2_000, copying=50_000), True), (world(), False)])
def test_a_long_copy_is_to_run_beside_the_next_steps_kernels(built: TraceBuilder, aside: bool) -> None:
    """On their stream it takes from them what it takes: only the host would no longer wait."""
    later = judged(RULE, built).finding.fix[-1]
    assert ("side.wait_stream" in later.code, "on a stream of its own" in later.note) == (aside, aside)
    assert later.code.startswith("buffer = torch.empty(out.shape, dtype=out.dtype, pin_memory=True)")


def test_what_only_the_copy_takes_is_lost_though_the_device_does_not_idle() -> None:
    found = judged(RULE, masked(compute=2_000, copying=50_000))
    assert found.finding.saving.usual_claims is not None
    assert found.finding.saving.usual_claims.total_ns == pytest.approx(3 * 50_000_000, rel=0.01)
    # The host is 2 ms earlier, which it stood in the copy while the device computed; it stood there for the copy's own sake else.
    assert found.finding.saving.claims.total_ns == pytest.approx(3 * 52_000_000, rel=0.01)
    assert "only copies for 50 ms" in found.finding.why


def test_a_copy_beside_kernels_is_no_time_of_its_own() -> None:
    assert run(RULE, masked(compute=2_000, copying=50_000, beside=True)).state is State.CLEAR


def test_names_the_op_that_copies_of_its_own_accord() -> None:
    found = judged(RULE, masked(compute=2_000, copying=50_000, op="torchvision::nms")).finding
    assert "inside `torchvision::nms`" in found.why
    assert "outputs.append" not in found.fix[0].code
    plain = judged(RULE, masked(compute=2_000, copying=50_000)).finding
    assert "inside" not in plain.why
    assert "outputs.append" in plain.fix[0].code


def test_a_state_that_is_saved_in_one_step_is_no_output() -> None:
    builder = masked(compute=99_000, copying=100, beside=True, steps=6, size=1_000)
    at = 6 * STEP
    builder.step(6, at, 9 * STEP)
    for index in range(10):
        start = at + 100 + index * 20_000
        builder.copy("DtoH", start, 19_000, start=start + 5, dur=18_990, size=64 << 20)
    builder.launch(at + 899_000, kernel_start=at + 899_010, kernel_dur=900)
    assert run(RULE, builder).state is State.CLEAR
    # Where each step copies as much, no state is saved.
    assert run(RULE, masked(compute=2_000, copying=50_000, steps=6)).state is State.FIRED


def test_without_a_device_the_question_does_not_arise() -> None:
    builder = TraceBuilder(None)
    builder.step(0, 0, STEP)
    builder.op("aten::copy_", 0, STEP)
    assert run(RULE, builder).state is State.NOT_APPLICABLE
