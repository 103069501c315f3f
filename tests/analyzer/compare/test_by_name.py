"""Device time by the operator that asks for it: kernels of another device have other names, what the program calls has not."""

from __future__ import annotations

import pytest

from analyzer.compare.by_name import kernel_times, operator_times
from analyzer.compare.comparison import compare
from analyzer.facts import Facts
from building.builders import TraceBuilder
from showing.snapshots import snapshot

_NODE = "autograd::engine::evaluate_function: ConvolutionBackward0"


def convolving(kernel: str, inner: str, dur: float, *, wrapper: str | None = None) -> Facts:
    """Two steps with one convolution and its node each, whose kernels and inner ops are those of a library."""
    builder = TraceBuilder()
    for number in range(2):
        at = number * 1_000
        builder.step(number, at, 1_000)
        if wrapper is not None:
            builder.op(wrapper, at + 5, 190)
        builder.op("aten::conv2d", at + 10, 80)
        builder.launch(at + 20, kernel_start=at + 100, kernel_dur=dur, name=kernel, op=inner)
        builder.op(_NODE, at + 400, 90)
        builder.op("ConvolutionBackward0", at + 405, 80)
        builder.launch(
            at + 410, kernel_start=at + 500, kernel_dur=2 * dur, name=f"{kernel}_dgrad", op=f"{inner}_backward"
        )
    return Facts(builder.trace())


def test_operators_keep_their_names_where_libraries_have_others():
    nvidia = convolving("cudnn_conv", "aten::cudnn_convolution", 100)
    amd = convolving("igemm_fwd", "aten::miopen_convolution", 50)
    assert not kernel_times(nvidia).keys() & kernel_times(amd).keys()
    assert operator_times(nvidia) == {"ConvolutionBackward0": 200_000.0, "aten::conv2d": 100_000.0}
    assert operator_times(amd) == {"ConvolutionBackward0": 100_000.0, "aten::conv2d": 50_000.0}


@pytest.mark.parametrize("wrapper", ["DistributedDataParallel.forward", "Torch-Compiled Region: 0/0"])
def test_a_wrapper_stands_for_nothing_that_an_operator_asks_for(wrapper: str):
    assert operator_times(convolving("k", "aten::cudnn_convolution", 100, wrapper=wrapper)) == operator_times(
        convolving("k", "aten::cudnn_convolution", 100)
    )


def test_kernels_of_no_operator_belong_to_what_is_around_them():
    builder = TraceBuilder().step(0, 0, 1_000)
    builder.op("CompiledFunction", 10, 200)
    builder.launch(20, kernel_start=100, kernel_dur=60, op="triton_poi_fused_add_0")
    assert operator_times(Facts(builder.trace())) == {"CompiledFunction": 60_000.0}


def test_collectives_are_nobodys_operator():
    builder = TraceBuilder().step(0, 0, 1_000)
    builder.op(_NODE, 10, 100)
    builder.launch(
        20, kernel_start=100, kernel_dur=60, name="ncclDevKernel_AllReduce_Sum_f32_RING_LL", op="nccl:all_reduce"
    )
    builder.launch(40, kernel_start=200, kernel_dur=30, op="aten::mul")
    assert operator_times(Facts(builder.trace())) == {"ConvolutionBackward0": 30_000.0}


def test_nothing_is_said_where_no_op_launched_a_kernel():
    builder = TraceBuilder().step(0, 0, 1_000)
    builder.launch(20, kernel_start=100, kernel_dur=60, op=None)
    assert operator_times(Facts(builder.trace())) is None


def test_both_sides_must_have_taken_it_down():
    before, after = snapshot(operators_ns={"aten::conv2d": 2e6}), snapshot(operators_ns={"aten::conv2d": 5e6})
    (row,) = compare([before], [after]).operators
    assert (row.name, row.before_ns, row.after_ns) == ("aten::conv2d", 2_000_000, 5_000_000)
    assert compare([snapshot()], [after]).operators == ()
    assert compare([before], [after, snapshot()]).operators == ()
