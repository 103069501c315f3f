"""KE013: steps of 4 ms in which twenty buffers are filled for 50 us each, beside products of 3 ms."""

from __future__ import annotations

import pytest

from analyzer.finding import Confidence, State
from building.builders import AUTOGRAD, MAIN, TraceBuilder
from rules.kernels.hardware_bound import RULE as HARDWARE
from rules.kernels.set_memory import RULE
from running.one_rule import judged, run
from stories.models import NVJET

FILL = (
    "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>, std::array<char*, 1ul>>"
    "(int, at::native::FillFunctor<float>, std::array<char*, 1ul>)"
)
SCATTER = "void at::native::_scatter_gather_elementwise_kernel<128, 8, at::native::_cuda_scatter_gather_internal_kernel<true>>"


def world(
    *,
    op: str = "aten::zeros",
    dur: float = 50,
    memset: bool = True,
    beside: str = NVJET,
    zero_grad: bool = False,
    wrapper: str | None = None,
) -> TraceBuilder:
    """Three steps.

    Args:
        op: The operator that asks for the fills.
        dur: Of each of twenty fills, us.
        memset: Whether the driver fills, or a kernel.
        beside: Name of one of the kernels that compute, for 150 us of 3 ms.
        zero_grad: Whether the fills lie in the optimizer's range for them.
        wrapper: A range among the ops around all of them.
    """
    builder = TraceBuilder()
    thread = AUTOGRAD if "Backward" in op else MAIN
    for number in range(3):
        at = number * 4_100.0
        builder.step(number, at, 4_100)
        if zero_grad:
            builder.zero_grad(at, 1_000)
        if wrapper is not None:
            builder.op(wrapper, at, 1_000, thread)
        for place in range(20):
            when, start = at + place * 40, at + 60 + place * 200
            builder.op(op, when, 16, thread)
            builder.op("aten::zero_", when + 1, 14, thread)
            if memset:
                call = builder.runtime("cudaMemsetAsync", when + 4, 5, thread)
                facts = {"device": 0, "stream": 7, "correlation": call, "bytes": 1 << 24}
                builder.event("Memset (Device)", "gpu_memset", start, dur, pid=0, tid=7, args=facts)
            else:
                builder.launch(when + 4, kernel_start=start, kernel_dur=dur, name=FILL, op=None, thread=thread)
            name = beside if place == 0 else NVJET
            builder.launch(when + 20, kernel_start=start + 50, kernel_dur=148, name=name, op="aten::mm")
    return builder


@pytest.mark.parametrize("memset", [True, False])
def test_fills_are_told_with_all_that_they_take(*, memset: bool) -> None:
    found = judged(RULE, world(memset=memset))
    assert (
        "takes 1.0 ms of each 4.1 ms step, 25 % of the time in which the device computes: 20 times a step"
        in found.finding.why
    )
    assert "`aten::zeros`" in found.finding.why
    assert found.finding.saving.kernel_ns == 3 * 20 * 50_000


@pytest.mark.parametrize("wrapper", ["DistributedDataParallel.forward", "Torch-Compiled Region: 0/0"])
def test_a_wrapper_asks_for_no_fills(wrapper: str) -> None:
    assert "`aten::zeros`" in judged(RULE, world(wrapper=wrapper)).finding.why


def test_few_fills_are_no_loss() -> None:
    assert run(RULE, world(dur=10)).state is State.CLEAR


@pytest.mark.parametrize(
    ("op", "said"),
    [
        ("aten::zeros", "torch.empty("),
        ("aten::empty", "fill_uninitialized_memory = False"),
        ("autograd::engine::evaluate_function: SliceBackward0", "unbind(1)"),
    ],
)
def test_the_fix_is_for_who_asks(op: str, said: str) -> None:
    assert said in judged(RULE, world(op=op)).finding.fix[0].code


def test_what_an_op_fills_for_its_own_work_stays() -> None:
    outcome = run(RULE, world(op="aten::convolution_backward"))
    assert outcome.state is State.CLEAR
    assert "for its own work" in outcome.reason


def test_gradients_are_told_by_another_rule() -> None:
    assert run(RULE, world(op="aten::zero_", zero_grad=True)).state is State.NOT_APPLICABLE


def test_what_sums_are_added_up_in_may_need_it() -> None:
    assert judged(RULE, world(beside=SCATTER)).finding.confidence is Confidence.LOW
    assert judged(RULE, world()).finding.confidence is Confidence.MEDIUM


def test_a_device_that_fills_is_not_said_to_leave_nothing() -> None:
    assert "sets memory to a value" in run(HARDWARE, world()).reason
    assert run(HARDWARE, world(dur=1)).state is not State.NOT_APPLICABLE


def launched(*, fills: int = 40, queued: bool = False) -> TraceBuilder:
    """Three steps: a product, then small fills, each as soon as it is launched, or all behind a long product."""
    builder = TraceBuilder()
    for number in range(3):
        at = number * 4_000.0
        builder.step(number, at, 4_000)
        builder.launch(at, kernel_start=at + 10, kernel_dur=3_000 if queued else 1_000, name=NVJET, op="aten::mm")
        for place in range(fills):
            when = at + 1_100 + place * 40
            start = at + 3_050 + 3 * place if queued else when + 12
            builder.op("aten::zeros", when, 30)
            builder.launch(when + 5, kernel_start=start, kernel_dur=2, name=FILL, op=None)
    return builder


def test_launches_of_fills_count_where_the_device_waits_for_them() -> None:
    found = judged(RULE, launched())
    # Of each 30 us call the fill takes 2.
    assert found.usual_ns_per_step == pytest.approx(40 * 28_000, rel=0.01)
    assert "the device idles for 1.1 ms (28 %)" in found.finding.why


@pytest.mark.parametrize(("fills", "state"), [(7, State.CLEAR), (8, State.FIRED)])
def test_few_launches_are_no_habit(fills: int, state: State) -> None:
    assert run(RULE, launched(fills=fills)).state is state


def test_launches_behind_a_queue_cost_nothing() -> None:
    assert run(RULE, launched(queued=True)).state is State.CLEAR
