"""OP002: a foreach Adam whose passes take a fifth of the device's time."""

from __future__ import annotations

import pytest

from analyzer.finding import Confidence, Severity, State
from building.builders import TraceBuilder
from rules.optimizer.unfused_foreach import RULE
from running.one_rule import judged, run

STEP = 100_000
PASSES = ("aten::_foreach_lerp_", "aten::_foreach_mul_", "aten::_foreach_addcmul_", "aten::_foreach_addcdiv_")


def world(
    *, update: float = 20_000, passes: tuple[str, ...] = PASSES, name: str = "Adam", device: str | None = "cuda"
) -> TraceBuilder:
    """Steps of 100 ms that the device fills, `update` us of it with the optimizer's passes; launched well ahead."""
    builder = TraceBuilder(device)
    for number in range(3):
        at = number * STEP
        builder.step(number, at, STEP)
        builder.optimizer(at + 100, 500, name)
        if device is None:
            builder.op("aten::_foreach_mul_", at + 100, 400)
            continue
        builder.launch(at, kernel_start=at + 5, kernel_dur=STEP - update - 5)
        for index, op in enumerate(passes):
            each = update / len(passes)
            builder.launch(
                at + 110 + index * 50, kernel_start=at + STEP - update + index * each, kernel_dur=each, op=op
            )
    return builder


@pytest.mark.parametrize(
    ("op", "asks"), [("aten::embedding_dense_backward", True), ("aten::embedding_backward", False)]
)
def test_dense_gradients_of_embeddings_without_shapes_may_be_what_is_updated(op: str, *, asks: bool) -> None:
    builder = world()
    for number in range(3):
        builder.op(op, number * STEP + 20, 40)
    assert any("record_shapes=True" in caveat for caveat in judged(RULE, builder).finding.caveats) is asks


def test_fires_with_half_the_kernel_time() -> None:
    found = judged(RULE, world())
    # Half of 20 ms, less the share in which the device idles (5 us of each step).
    assert found.usual_ns_per_step == pytest.approx(10_000_000, rel=1e-3)
    assert found.ns_per_step == 20_000_000
    assert (found.severity, found.confidence) == (Severity.LOW, Confidence.MEDIUM)
    assert "4 kinds of `_foreach_` op" in found.finding.why


def test_quiet_when_fused_or_without_a_fused_form() -> None:
    assert run(RULE, world(passes=("aten::_fused_adam_",))).state is State.NOT_APPLICABLE
    assert run(RULE, world(name="RMSprop")).state is State.NOT_APPLICABLE
    assert run(RULE, world(passes=PASSES[:2])).state is State.NOT_APPLICABLE


@pytest.mark.parametrize(("update", "state"), [(4_900, State.CLEAR), (5_100, State.FIRED)])
def test_boundary(update: float, state: State) -> None:
    assert run(RULE, world(update=update)).state is state


def test_not_applicable_on_the_cpu() -> None:
    assert run(RULE, world(device=None)).state is State.NOT_APPLICABLE


def held_up(*, each: float = 3_000, busy: bool = False, op: str = "aten::_foreach_") -> TraceBuilder:
    """Steps of 100 ms with an AdamW whose eight passes keep the host for `each` us each, beside a busy device or an idle one."""
    builder = TraceBuilder()
    for number in range(3):
        at = number * STEP
        builder.step(number, at, STEP)
        begin = at + STEP - 8 * each
        builder.launch(at, kernel_start=at + 5, kernel_dur=(STEP if busy else begin - at) - 10)
        builder.optimizer(begin, 8 * each, "AdamW")
        for index in range(8):
            name = op + ("lerp_", "mul_", "addcmul_", "addcdiv_")[index % 4]
            builder.op(name, begin + index * each, each - 10)
            start = begin + (index + 1) * each - 20
            builder.launch(start, kernel_start=start + 6, kernel_dur=4, op=None, stream=8 if busy else 7)
    return builder


def test_passes_that_hold_the_device_up_on_the_host_are_told() -> None:
    found = judged(RULE, held_up())
    # Eight times 3 ms, less kernels of 4 us.
    assert found.ns_per_step == pytest.approx(24_000_000, rel=0.01)
    assert "while AdamW.step is at work on the host" in found.finding.why
    assert [part in fix.code for part, fix in zip(("fused=True", "torch.compile"), found.finding.fix, strict=True)] == [
        True
    ] * 2


@pytest.mark.parametrize(("kernel", "found"), [(20, 1), (2_500, 2)], ids=["little of the step", "much of it"])
def test_kernels_that_are_little_of_the_step_are_no_finding_beside_the_idle_time(kernel: float, found: int) -> None:
    """Both have the same fix. A model of 50 us: even short passes are most of the time that the device is busy."""
    builder = TraceBuilder()
    for number in range(3):
        at = number * STEP
        builder.step(number, at, STEP)
        builder.launch(at, kernel_start=at + 5, kernel_dur=50)
        builder.optimizer(at + 100, STEP - 200, "AdamW")
        for index in range(8):
            begin = at + 110 + index * 12_000
            builder.op(f"aten::_foreach_{('lerp_', 'mul_', 'addcmul_', 'addcdiv_')[index % 4]}", begin, 9_000)
            builder.launch(begin + 8_900, kernel_start=begin + 8_906, kernel_dur=kernel, op=None)
    assert len(run(RULE, builder).findings) == found


def test_beside_a_busy_device_they_cost_nothing() -> None:
    assert run(RULE, held_up(busy=True)).state is State.CLEAR


def test_nor_are_those_of_a_fused_update() -> None:
    assert run(RULE, held_up(op="aten::_fused_adamw_")).state is State.NOT_APPLICABLE


@pytest.mark.parametrize(("each", "state"), [(600, State.CLEAR), (650, State.FIRED)])
def test_boundary_of_the_host(each: float, state: State) -> None:
    assert run(RULE, held_up(each=each)).state is state


@pytest.mark.parametrize("hooks", [True, False])
def test_in_hooks_of_the_gradients_each_step_is_of_one_parameter(hooks: bool) -> None:
    builder = TraceBuilder("cuda")
    for number in range(3):
        at = number * STEP
        builder.step(number, at, STEP)
        builder.launch(at, kernel_start=at + 5, kernel_dur=9_000)
        for index in range(6):
            start = at + 10_000 + index * 10_000
            builder.op("torch::autograd::AccumulateGrad", start, 6_000 if hooks else 50)
            builder.optimizer(start + 100, 5_000)
            for place, op in enumerate(PASSES):
                when = start + 200 + place * 1_000
                builder.launch(when, kernel_start=when + 500, kernel_dur=10, op=op, call_dur=400)
    found = judged(RULE, builder).finding
    assert ("6 times a step, for one parameter each" in found.why) == hooks
    assert ("{p: torch.optim.Adam([p]" in found.fix[0].code) == hooks
    assert ("after the backward pass" in found.fix[1].note) == hooks
