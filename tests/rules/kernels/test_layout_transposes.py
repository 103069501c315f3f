"""KE002: 9 of 90 busy milliseconds reorder tensors around convolutions."""

from __future__ import annotations

import pytest

from analyzer.finding import State
from building.builders import TraceBuilder
from rules.kernels.layout_transposes import RULE
from running.one_rule import judged, run

CONV = "sm80_xmma_fprop_implicit_gemm_tf32f32_tf32f32_f32_nhwckrsc_nhwc_tilesize64x128x32_stage5"


def world(
    *,
    layout: float = 9_000,
    conv: float = 81_000,
    name: str = "void cudnn::ops::nchwToNhwcKernel<float, float, float>(p)",
    device: str = "cuda",
    strides: list[list[int]] | None = None,
) -> TraceBuilder:
    """Three steps of 100 ms: a reordering and a convolution, inside an op whose strides may be recorded."""
    builder = TraceBuilder(device)
    for number in range(3):
        at = number * 100_000.0
        builder.step(number, at, 100_000)
        op = "aten::cudnn_convolution"
        if strides is not None:
            dims = [[64, 256, 56, 56], [256, 256, 3, 3]]
            builder.op("aten::convolution", at, 900, **{"Input Dims": dims, "Input Strides": strides})
        builder.launch(at, kernel_start=at + 2_000, kernel_dur=layout, name=name, op=op)
        builder.launch(at + 100, kernel_start=at + 2_000 + layout, kernel_dur=conv, name=CONV, op=op)
    return builder


def test_fires_with_their_time() -> None:
    found = judged(RULE, world())
    assert found.ns_per_step == pytest.approx(9e6 * 0.9, abs=10)
    assert "(10 % of its busy time)" in found.finding.why


def test_miopen_names_count_too() -> None:
    assert run(RULE, world(name="batched_transpose_32x16_half")).state is State.FIRED


@pytest.mark.parametrize(("device", "told"), [("cuda", False), ("rocm", True)])
def test_on_rocm_the_switch_without_which_nothing_changes_is_named(device: str, told: bool) -> None:
    (advice,) = judged(RULE, world(name="batched_transpose_32x16_half", device=device)).finding.fix
    assert ("PYTORCH_MIOPEN_SUGGEST_NHWC=1" in (advice.note or "")) is told


def test_conversions_by_cudnn_are_no_pointwise_work() -> None:
    found = judged(
        RULE, world(name="void cudnn::ops::convertTensor_kernel<__half, __half, float, (cudnnKernelDataType_t)0>(p)")
    )
    assert found.ns_per_step == pytest.approx(9e6 * 0.9, abs=10)


@pytest.mark.parametrize("norm", ["aten::instance_norm", "aten::batch_norm"])
def test_instance_norms_convert_in_channels_last(norm: str) -> None:
    builder = world()
    for number in range(3):
        builder.op(norm, number * 100_000 + 300, 50)
    found = judged(RULE, builder).finding
    assert any("contiguous_format" in fix.code for fix in found.fix) is (norm == "aten::instance_norm")
    assert bool(found.caveats) is (norm == "aten::instance_norm")


def test_another_transpose_does_not() -> None:
    name = "void transpose_readWrite_alignment_kernel<float2, float2, 1, false, 6, 4, 4>(p)"
    assert run(RULE, world(name=name)).state is State.CLEAR


@pytest.mark.parametrize(("layout", "state"), [(1_900, State.CLEAR), (2_100, State.FIRED)])
def test_boundary(layout: float, state: State) -> None:
    assert run(RULE, world(layout=layout, conv=100_000 - layout)).state is state


def test_not_applicable_without_convolutions() -> None:
    builder = TraceBuilder().step(0, 0, 100)
    builder.launch(0, kernel_start=10, kernel_dur=80)
    assert run(RULE, builder).state is State.NOT_APPLICABLE


FIRST, LAST = [802_816, 3_136, 56, 1], [802_816, 1, 14_336, 256]
WEIGHTS_FIRST, WEIGHTS_LAST = [2_304, 9, 3, 1], [2_304, 1, 768, 256]


@pytest.mark.parametrize(
    ("strides", "device", "said"),
    [
        ([FIRST, WEIGHTS_FIRST], "cuda", "+model = model.to(memory_format"),
        ([FIRST, WEIGHTS_LAST], "cuda", "+    images = images.to("),
        ([LAST, WEIGHTS_FIRST], "cuda", "model = model.to(memory_format"),
        ([LAST, WEIGHTS_LAST], "cuda", "channels last already"),
        ([LAST, WEIGHTS_LAST], "rocm", "+model = model.to(memory_format"),
    ],
)
def test_what_lies_with_channels_last_is_not_to_be_laid_so(strides: list[list[int]], device: str, said: str) -> None:
    found = judged(RULE, world(strides=strides, device=device)).finding
    assert said in found.fix[0].code
    inputs, weights = ("100 %" if one in (LAST, WEIGHTS_LAST) else "0 %" for one in strides)
    assert f"{inputs} get their input with channels last, and {weights} their weights" in found.why
