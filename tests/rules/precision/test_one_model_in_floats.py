"""PR001: a program that runs several models may have one of them in 32 bits."""

from __future__ import annotations

import pytest

from analyzer.finding import State
from building.builders import TraceBuilder
from building.clocked import Clocked
from rules.precision.no_mixed_precision import RULE
from running.one_rule import judged, run
from stories import devices
from stories.models import AMPERE, CONV, CONV_32, NVJET, SGEMM, update

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


def _taught(*, without_gradients: bool, student: str = AMPERE) -> Clocked:
    """A teacher in float32 beside a student; both recorded for a backward pass, or the student alone."""
    world = Clocked(top=devices.of(devices.A100))
    for _ in world.steps(3):
        world.recorded = not without_gradients
        for _ in range(20):
            world.kernel_of("aten::linear/aten::addmm", SGEMM, 200)
        world.recorded = True
        for _ in range(20):
            world.kernel_of("aten::linear/aten::addmm", student, 100)
        world.recorded = False
        with world.backward():
            for _ in range(20):
                with world.node("AddmmBackward0"):
                    world.kernel_of("aten::mm", student, 100)
    return world


def test_a_model_that_takes_no_gradients_is_in_floats_beside_one_in_16_bits() -> None:
    found = judged(RULE, _taught(without_gradients=True)).finding
    assert found.why.endswith("the forward passes without gradients are not.")
    assert "teacher(x)" in found.fix[0].code


def test_what_autocast_leaves_in_a_model_that_is_trained_is_no_other_model() -> None:
    assert run(RULE, _taught(without_gradients=False)).state is State.CLEAR


def test_where_both_are_in_floats_the_advice_is_for_both() -> None:
    found = judged(RULE, _taught(without_gradients=True, student=SGEMM)).finding
    assert not any("teacher(x)" in fix.code for fix in found.fix)
