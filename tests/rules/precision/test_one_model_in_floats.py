"""PR001: a program that runs several models may have one of them in 32 bits."""

from __future__ import annotations

import pytest

from analyzer.finding import State
from builders import TraceBuilder
from clocked import Clocked
from rules.precision.no_mixed_precision import RULE
from stories.models import CONV, CONV_32, NVJET, update
from worlds import judged, run

CONV_OPS = "aten::conv2d/aten::convolution/aten::_convolution/aten::cudnn_convolution"


def world(*, floats: int, halves: int, trains: bool = False) -> TraceBuilder:
    """Four steps of 20 products in bfloat16, then so many convolutions of floats and of halves."""
    world = Clocked()
    for _ in world.steps(4):
        for _ in range(20):
            world.kernel_of("aten::mm", NVJET, 500)
        for name, number in ((CONV_32, floats), (CONV, halves)):
            for _ in range(number):
                world.kernel_of(CONV_OPS, name, 500)
        if trains:
            with world.backward(), world.node("MmBackward0"):
                world.kernel_of("aten::mm", NVJET, 500)
            update(world)
        world.synchronize("cudaStreamSynchronize")
    return world


def test_a_model_of_convolutions_left_in_floats_is_found() -> None:
    found = judged(RULE, world(floats=20, halves=0)).finding
    assert "the convolutions are not" in found.why
    assert "decoder.to(torch.bfloat16)" in found.fix[0].code
    assert "scaler" not in found.fix[0].code


@pytest.mark.parametrize(("floats", "halves", "trains"), [(20, 10, False), (20, 0, True), (0, 20, False)])
def test_ops_left_in_floats_among_others_are_chosen(floats: int, halves: int, *, trains: bool) -> None:
    assert run(RULE, world(floats=floats, halves=halves, trains=trains)).state is not State.FIRED
