"""What no formula tells of is named beside the operators, with its time."""

from __future__ import annotations

from pathlib import Path

import pytest

from analyzer.page import hardware
from building.builders import TraceBuilder
from programs.hardware import explained, products

SIZES = {"Input Dims": [[512, 512], [512, 512]], "Input type": ["float"] * 2}


@pytest.mark.parametrize("extra_us", [300, 20, 0])
def test_an_op_without_a_formula_is_named_with_the_time_of_its_kernels(extra_us: int, tmp_path: Path) -> None:
    """Of 650 us in the table a twentieth is worth a word."""
    builder = products()
    for number in range(3):
        at = number * 2_000 + 1_000
        if extra_us:
            builder.op("aten::sort", at, 40)
            builder.op("aten::sort_stable", at + 1, 30)
            builder.launch(at + 5, kernel_start=at + 200, kernel_dur=extra_us, name="sortKernel", op=None)
    analysis = explained(builder, tmp_path).analysis
    assert analysis.hardware is not None
    assert [(one.op, one.kernel_ns) for one in analysis.hardware.others] == (
        [("aten::sort_stable", 3 * extra_us * 1_000)] if extra_us else []
    )
    assert ("No formula is known for aten::sort_stable 300 us a step." in hardware.against(analysis)) is (
        extra_us == 300
    )
    assert ("No formula" in hardware.against(analysis)) is (extra_us == 300)


def test_without_a_device_an_op_counts_outside_those_it_calls(tmp_path: Path) -> None:
    builder = TraceBuilder(device=None)
    for number in range(3):
        at = number * 10_000
        builder.step(number, at, 9_000)
        builder.op("aten::mm", at + 10, 3_000, **SIZES)
        builder.op("aten::resolve_conj", at + 20, 1_000)
        builder.op("aten::nms", at + 4_000, 4_000)
        # Hands a number over, and computes nothing, however long it waits.
        builder.op("aten::item", at + 8_000, 900)
        builder.op("aten::_local_scalar_dense", at + 8_010, 800)
        builder.op("aten::mm", at + 4_500, 1_000, **SIZES)
    analysis = explained(builder, tmp_path).analysis
    assert analysis.hardware is not None
    assert [(one.op, one.kernel_ns) for one in analysis.hardware.others] == [("aten::nms", 9_000_000)]
    assert "aten::nms 3.0 ms a step" in hardware.against(analysis)


@pytest.mark.parametrize(
    ("kernel", "named"),
    [("ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)", False), ("sortKernel", True)],
)
def test_a_collective_that_a_gradients_hook_launches_is_no_work_of_an_op(
    kernel: str, named: bool, tmp_path: Path
) -> None:
    builder = products()
    for number in range(3):
        at = number * 2_000 + 1_000
        builder.op("torch::autograd::AccumulateGrad", at, 40)
        builder.launch(at + 5, kernel_start=at + 200, kernel_dur=600, name=kernel, stream=20, op=None)
    analysis = explained(builder, tmp_path).analysis
    assert analysis.hardware is not None
    assert bool(analysis.hardware.others) is named
    assert analysis.hardware.known_ratio == pytest.approx(650 / 1_250 if named else 1.0, abs=0.01)


@pytest.mark.parametrize("conv", ["aten::cudnn_convolution", "aten::mkldnn_convolution"])
def test_ops_whose_device_was_not_recorded_achieve_nothing_that_is_known(conv: str, tmp_path: Path) -> None:
    """A call that only asks a GPU for a product takes microseconds: no rate follows from them."""
    builder = TraceBuilder(device=None)
    for number in range(3):
        at = number * 10_000
        builder.step(number, at, 9_000)
        for index in range(30):
            builder.op("aten::mm", at + 10 + index * 100, 20, **SIZES)
        builder.op(conv, at + 8_000, 100)
    analysis = explained(builder, tmp_path).analysis
    assert analysis.hardware is not None
    assert bool(analysis.hardware.operators) is (conv == "aten::mkldnn_convolution")
    assert analysis.hardware.reason == ("" if analysis.hardware.operators else "the device's work was not recorded")
