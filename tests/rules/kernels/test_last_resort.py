"""KE004, the verdict: a device that computes with a library's last resort is not at its limit."""

from __future__ import annotations

import pytest

from analyzer.finding import State
from building.builders import TraceBuilder
from building.clocked import Clocked
from building.dialects import rocm
from known.sayings import explained
from rules.kernels.hardware_bound import RULE
from running.one_rule import run
from stories.models import NVJET

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
