"""PY003: frames of a video that go through the same layers one by one, and turns that are something else."""

from __future__ import annotations

import pytest

from analyzer.finding import Confidence, State
from building.builders import TraceBuilder
from rules.python.repeated_small_ops import RULE
from running.one_rule import judged, run

STEP = 10_000
UNIT = ("aten::select", "aten::conv2d", "aten::relu", "aten::flatten", "aten::linear")
NODE = "autograd::engine::evaluate_function: ConvolutionBackward0"
RECEIVED = "torch::autograd::AccumulateGrad"


def world(
    unit: tuple[str, ...] = UNIT,
    *,
    turns: int = 20,
    trained: int = 4,
    element: list[int] | None = None,
    shapes: bool = True,
    backward: bool = True,
) -> TraceBuilder:
    """Steps of 10 ms: the unit once for each of `turns` frames, then a backward pass in which `trained` tensors receive."""
    builder = TraceBuilder(None)
    taken = [4, 3, 32, 32] if element is None else element
    for number in range(3):
        at, first = number * STEP, number * 1_000
        builder.step(number, at, STEP)
        for index in range(turns * len(unit)):
            name, when = unit[index % len(unit)], at + 12 * index
            dims = [4, turns, 3, 32, 32] if name == unit[0] else taken if name == "aten::conv2d" else [4, 8]
            args = {"Input Dims": [dims, [8, 3, 3, 3]]} if shapes else {}
            builder.op(name, when, 10, **args, **{"Sequence number": first + index})
            if name in ("aten::conv2d", "aten::linear"):
                builder.op("aten::mkldnn_convolution" if name == "aten::conv2d" else "aten::addmm", when + 1, 6)
        end = at + 12 * turns * len(unit)
        if backward:
            builder.op(NODE, end, 1_000, **{"Sequence number": first + 2})
            for tensor in range(trained):
                builder.op(f"autograd::engine::evaluate_function: {RECEIVED}", end + 1_000 + 10 * tensor, 8)
                builder.op(RECEIVED, end + 1_001 + 10 * tensor, 6)
        builder.optimizer(at + 9_000, 900)
    return builder


def test_frames_one_by_one_cost_what_is_no_product() -> None:
    found = judged(RULE, world())
    assert found.finding.title == "Layers called element by element"
    assert "called 20 times in a row" in found.finding.why
    assert found.finding.confidence is Confidence.MEDIUM
    assert "clip.flatten(0, 1)" in found.finding.fix[0].code
    # Twenty turns of five ops of 10 us, without 6 us in each of two, and the node of 1 ms.
    loop = 3 * (20 * (50 - 12) + 1_000) * (1 - 1 / 20)
    assert found.finding.saving.kernel_ns == pytest.approx(loop * 1_000, rel=0.01)
    assert not found.finding.caveats


def test_without_shapes_both_readings_are_said() -> None:
    found = judged(RULE, world(shapes=False)).finding
    assert found.confidence is Confidence.LOW
    assert "needs the one before" in found.caveats[0]


def test_batch_normalisation_then_takes_all_elements() -> None:
    unit = ("aten::select", "aten::conv2d", "aten::add_", "aten::batch_norm", "aten::relu")
    assert "statistics from all elements" in judged(RULE, world(unit)).finding.caveats[0]


RESIDUAL = ("select", "conv2d", "relu", "conv2d", "relu", "conv2d", "add", "relu", "adaptive_avg_pool2d", "flatten")


def residual(*changes: tuple[str, str]) -> tuple[str, ...]:
    """The unit of an encoder with one residual block, some ops changed into others, or left out."""
    names = [dict(changes).get(name, name) for name in RESIDUAL]
    return tuple(f"aten::{name}" for name in names if name)


@pytest.mark.parametrize("added", ["add", "add_"])
def test_residual_blocks_add_what_is_the_turns_own_and_doubt_is_said(added: str) -> None:
    found = judged(RULE, world(residual(("add", added)), turns=12)).finding
    assert found.title == "Layers called element by element"
    assert found.confidence is Confidence.LOW
    assert "what the turn before has left" in found.caveats[0]


@pytest.mark.parametrize(
    "unit",
    [
        residual(("relu", "tanh")),
        residual(("adaptive_avg_pool2d", ""), ("flatten", "")),
        residual(("conv2d", "linear")),
        ("aten::select", "aten::conv2d", "aten::add", "aten::relu", "aten::flatten", "aten::linear"),
        ("aten::select", "aten::conv2d", "aten::flatten", "aten::linear", "aten::linear", "aten::add", "aten::relu"),
    ],
    ids=["gates", "ends with what it adds", "no convolution", "nothing beside the layer", "a state of features"],
)
def test_additions_that_may_bring_in_another_turns_state_are_left(unit: tuple[str, ...]) -> None:
    assert run(RULE, world(unit, turns=12)).state is State.CLEAR


@pytest.mark.parametrize(
    "builder",
    [
        world(trained=40),
        world(trained=0),
        world(backward=False),
        world(("aten::select", "aten::conv2d", "aten::add", "aten::relu")),
        world(("aten::select", "aten::conv2d", "aten::add_", "aten::relu")),
        world(("aten::conv2d", "aten::relu", "aten::flatten")),
        world(("aten::linear",)),
        world(element=[4, 7, 5, 5]),
    ],
    ids=[
        "layers of their own",
        "unknown",
        "no gradient",
        "a state is added",
        "added in place",
        "no element",
        "one op",
        "another input",
    ],
)
def test_turns_that_may_need_another_or_have_their_own_layers_are_left(builder: TraceBuilder) -> None:
    assert run(RULE, builder).state is State.CLEAR
