"""GR006: a convolution adds a bias for 5 ms, and a batch normalisation follows."""

from __future__ import annotations

import pytest

from analyzer.finding import State
from building.builders import AUTOGRAD, TraceBuilder
from rules.graph.conv_bias_before_norm import RULE
from running.one_rule import judged, run

CONV = "sm80_xmma_fprop_implicit_gemm_tf32f32_tf32f32_f32_nhwckrsc_nhwc_tilesize64x128x32_stage5"
ADD = "void at::native::elementwise_kernel<128, 2, at::native::CUDAFunctor_add<float>>(p)"
SUM = "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, float, unsigned int>>(p)"


def world(*, bias: bool = True, between: str | None = None, layers: int = 1, kernels: bool = True) -> TraceBuilder:
    """Three steps of 100 ms: a convolution, the counter of its normalisation, the normalisation, the backward pass."""
    builder = TraceBuilder()
    for number in range(3):
        at = number * 100_000.0
        builder.step(number, at, 100_000)
        for layer in range(layers):
            begin = at + layer * 1_000
            shapes = [[8, 3, 32, 32], [16, 3, 3, 3], [16] if bias else [], [], [], [], []]
            builder.op("aten::conv2d", begin, 100, **{"Input Dims": shapes, "Input type": ["float", "float", "float"]})
            start = at + 2_000 + layer * 20_000
            builder.launch(begin + 10, kernel_start=start, kernel_dur=10_000, name=CONV, op="aten::cudnn_convolution")
            if kernels:
                builder.launch(begin + 30, kernel_start=start + 10_000, kernel_dur=5_000, name=ADD, op="aten::add_")
            counter = {"Input Dims": [[], [], []], "Input type": ["long int", "long int", "Scalar"]}
            builder.op("aten::add_", begin + 110, 5, **counter)
            if between:
                builder.op(between, begin + 120, 5, **{"Input Dims": [[8, 16, 32, 32]], "Input type": ["float"]})
            builder.op("aten::batch_norm", begin + 130, 50)
            builder.op("aten::convolution_backward", begin + 200, 100, thread=AUTOGRAD)
            if kernels:
                builder.launch(
                    begin + 210,
                    kernel_start=start + 15_000,
                    kernel_dur=1_000,
                    name=SUM,
                    op="aten::sum",
                    thread=AUTOGRAD,
                )
    return builder


def test_fires_with_the_kernels_of_the_bias() -> None:
    found = judged(RULE, world())
    # 5 ms to add it, 1 ms for its gradient; the device is busy 16 % of the step.
    assert found.ns_per_step == pytest.approx(6e6, abs=10)
    assert found.usual_ns_per_step == pytest.approx(6e6 * 0.16, abs=10)
    assert found.finding.why.startswith("3 convolutions add a bias")


def test_quiet_without_a_bias() -> None:
    assert run(RULE, world(bias=False)).state is State.CLEAR


def test_a_bias_without_kernels_of_its_own_costs_nothing() -> None:
    assert run(RULE, world(kernels=False)).state is State.CLEAR


def test_an_activation_between_them_needs_the_bias() -> None:
    assert run(RULE, world(between="aten::relu")).state is State.NOT_APPLICABLE


@pytest.mark.parametrize(("limit", "state"), [(3, State.FIRED), (4, State.CLEAR)])
def test_boundary(limit: int, state: State) -> None:
    assert run(RULE, world(), {"min_pairs": limit}).state is state


def test_cannot_tell_without_shapes() -> None:
    builder = TraceBuilder().step(0, 0, 100)
    builder.launch(0, kernel_start=10, kernel_dur=80)
    result = run(RULE, builder)
    assert (result.state, result.reason) == (State.CANNOT_TELL, "needs record_shapes=True")
