"""GR005: a product, a softmax and a product take 60 of 90 busy milliseconds."""

from __future__ import annotations

import pytest

from analyzer.finding import Confidence, State
from building.builders import AUTOGRAD, TraceBuilder
from rules.graph.unfused_attention import RULE
from running.one_rule import judged, run

GEMM = "ampere_bf16_s16816gemm_bf16_128x64_ldg8_f2f_stages_32x6_nn"
SOFTMAX = "void at::native::(anonymous namespace)::cunn_SoftMaxForward<8, c10::BFloat16, float>(p)"
OTHER = "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>>(p)"
ATTENTION = (("aten::bmm", GEMM), ("aten::_softmax", SOFTMAX), ("aten::bmm", GEMM))


def world(
    ops: tuple[tuple[str, str], ...] = ATTENTION,
    *,
    each: float = 20_000,
    rest: float = 30_000,
    thread: int | None = None,
) -> TraceBuilder:
    """Three steps of 100 ms: the given ops with a kernel each, then other work."""
    builder = TraceBuilder()
    for number in range(3):
        at = number * 100_000.0
        builder.step(number, at, 100_000)
        clock = at + 2_000
        for index, (op, kernel) in enumerate(ops):
            launch = at + 100 * index
            where = {} if thread is None else {"thread": thread}
            builder.launch(launch, kernel_start=clock, kernel_dur=each, name=kernel, op=op, **where)
            clock += each
        builder.launch(at + 1_000, kernel_start=clock, kernel_dur=rest, name=OTHER)
    return builder


def test_fires_with_the_softmax_and_half_of_the_products() -> None:
    found = judged(RULE, world())
    assert found.ns_per_step == pytest.approx((20e6 + 0.5 * 40e6) * 0.9, abs=10)
    assert "softmax 22 %, its products 44 %" in found.finding.why


def test_the_backward_pass_counts_where_there_is_a_forward_one() -> None:
    backward = (("aten::bmm", GEMM),) * 2 + (("aten::_softmax_backward_data", SOFTMAX),) + (("aten::bmm", GEMM),) * 2
    found = judged(RULE, world((*ATTENTION, ("aten::mm", GEMM), *backward), each=10_000, rest=0.001))
    assert found.ns_per_step == pytest.approx((20e6 + 0.5 * 60e6) * 0.9, rel=1e-3)
    assert run(RULE, world(backward, each=10_000, thread=AUTOGRAD)).state is State.NOT_APPLICABLE


def test_a_classifiers_softmax_is_no_attention() -> None:
    ops = (("aten::bmm", GEMM), ("aten::addmm", GEMM), ("aten::_softmax", SOFTMAX))
    assert run(RULE, world(ops)).state is State.NOT_APPLICABLE


@pytest.mark.parametrize(("calls", "asks"), [(3, True), (2, True), (1, False), (0, False)])
def test_a_function_that_fell_back_is_asked_why(calls: int, asks: bool) -> None:
    builder = world()
    for number in range(calls):
        builder.op("aten::_scaled_dot_product_attention_math", number * 100_000, 500)
    finding = judged(RULE, builder).finding
    assert ("no fused kernel takes its inputs" in finding.why) is asks
    assert ("sdpa_kernel" in finding.fix[0].code) is asks


FUSED = (
    "aten::_flash_attention_forward", "void pytorch_flash::flash_fwd_kernel<Flash_fwd_kernel_traits<64, 128, 128, 4>>(p)",
)  # fmt: skip


def test_quiet_where_as_much_of_it_is_fused() -> None:
    assert run(RULE, world((*[FUSED] * 3, *ATTENTION), each=10_000)).state is State.CLEAR


def test_most_of_it_written_out_beside_some_that_is_fused_is_told_less_surely() -> None:
    found = judged(RULE, world((FUSED, *ATTENTION), each=15_000)).finding
    assert "Other attention is fused, for 17 %." in found.why
    assert found.confidence is Confidence.MEDIUM
    assert judged(RULE, world()).finding.confidence is Confidence.HIGH


def test_a_function_that_fell_back_is_told_beside_more_that_is_fused() -> None:
    builder = world((*[FUSED] * 4, *ATTENTION), each=10_000)
    assert run(RULE, builder).state is State.CLEAR
    for number in range(3):
        builder.op("aten::_scaled_dot_product_attention_math", number * 100_000 + 380, 400)
    assert "no fused kernel takes its inputs" in judged(RULE, builder).finding.why


@pytest.mark.parametrize(("each", "state"), [(1_600, State.CLEAR), (1_700, State.FIRED)])
def test_boundary(each: float, state: State) -> None:
    assert run(RULE, world(each=each, rest=95_000)).state is state


def test_cannot_tell_without_ops() -> None:
    builder = TraceBuilder()
    builder.launch(0, kernel_start=10, kernel_dur=80, name=SOFTMAX, op=None)
    assert run(RULE, builder).state is State.CANNOT_TELL
