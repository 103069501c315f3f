"""KE004, KE005, PR001, the verdict: a device that computes with a library's last resort is not at its limit, in any format."""

from __future__ import annotations

import pytest

from analyzer.finding import State
from building.builders import TraceBuilder
from building.clocked import Clocked
from building.dialects import rocm
from known.sayings import explained
from rules.kernels.far_from_roofline import RULE as FAR
from rules.kernels.hardware_bound import RULE
from rules.precision.no_mixed_precision import RULE as SHORTER
from running.one_rule import judged, run
from stories.models import ADD, NVJET

NAIVE = "naive_conv_nonpacked_fwd_nchw_half_double_half"
FITTING = "miopenSp3AsmConv_v30_3_1_gfx9_fp16_dot2_edc_stride1"


def world(kernel: str, dur: float = 900) -> TraceBuilder:
    """Four steps of 20 convolutions by a kernel and 20 products."""
    world = Clocked()
    types = {"Input type": ["c10::Half", "c10::Half"]}
    for _ in world.steps(4):
        for _ in range(20):
            world.kernel_of("aten::convolution/aten::miopen_convolution", kernel, dur, args=types)
            world.kernel_of("aten::mm", NVJET, 900, args=types)
        world.read_value()
    return rocm(world)


@pytest.mark.parametrize(("kernel", "dur"), [(FITTING, 900), (NAIVE, 20)])
def test_kernels_that_fit_and_few_naive_ones_are_the_hardware_at_its_limit(kernel: str, dur: float) -> None:
    assert run(RULE, world(kernel, dur)).state is State.FIRED
    assert "last resort" not in explained(world(kernel, dur)).summary.verdict.text


def test_naive_convolutions_are_not_the_limit_of_the_hardware_but_named() -> None:
    found = run(RULE, world(NAIVE))
    assert found.state is State.CLEAR
    text = explained(world(NAIVE)).summary.verdict.text
    assert f"MIOpen's naive convolutions, as `{NAIVE}`" in text


MI300X = {
    "id": 0, "name": "AMD Instinct MI300X", "totalGlobalMem": 206_141_652_992, "computeMajor": 9, "computeMinor": 4, "warpSize": 64,
    "numSms": 304,
}  # fmt: skip
IN_FLOATS = "naive_conv_ab_nonpacked_fwd_ncdhw_float_double_float"
MADE_FOR_IT = "igemm_fwd_gtcx_nhwc_fp32_bx0_ex0_bt128x128x32"


def volumes(kernel: str) -> TraceBuilder:
    """Four steps of 3D convolutions on floats by a kernel, with their backward pass, on a named card."""
    world = Clocked("rocm", top={"deviceProperties": [dict(MI300X)]})
    args = {
        "Input Dims": [[2, 64, 16, 64, 64], [64, 64, 3, 3, 3], *([[]] * 7)],
        "Input type": ["float", "float", "", *(["ScalarList"] * 3), "Scalar", "ScalarList", "Scalar"],
        "Concrete Inputs": ["", "", "", "[1, 1, 1]", "[1, 1, 1]", "[1, 1, 1]", "False", "[0, 0, 0]", "1"],
    }
    for _ in world.steps(4):
        for _ in range(6):
            world.kernel_of("aten::conv3d/aten::convolution", kernel, 9_000, args=args)
        with world.backward(), world.node("ConvolutionBackward0"):
            world.kernel_of("aten::threshold_backward", ADD, 300)
    return world


def test_of_naive_convolutions_on_floats_nothing_says_that_16_bits_help() -> None:
    assert run(SHORTER, volumes(MADE_FOR_IT)).state is State.FIRED
    assert run(SHORTER, volumes(IN_FLOATS)).state is State.CLEAR


def test_what_is_far_from_its_roofline_for_a_naive_kernel_says_so() -> None:
    found = judged(FAR, volumes(IN_FLOATS))
    assert "MIOpen computes it naively" in found.finding.why
    assert any("channels_last" in one.code for one in found.finding.fix)
    assert not found.usual_ns_per_step
    other = judged(FAR, volumes(MADE_FOR_IT)).finding
    assert "naively" not in other.why + "".join(one.code for one in other.fix)
