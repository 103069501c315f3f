"""PY003: heads of attention computed one after another, and layers that only look like it."""

from __future__ import annotations

import pytest

from analyzer.finding import Confidence, Figure, State
from building.builders import TraceBuilder
from rules.python.repeated_small_ops import RULE
from running.one_rule import judged, run

STEP = 10_000
HEAD = ("linear", "linear", "transpose", "matmul", "mul", "masked_fill", "softmax", "linear", "matmul")
NODE = "autograd::engine::evaluate_function: BmmBackward0"


def world(
    unit: tuple[str, ...] = HEAD, *, heads: int = 8, layers: int = 2, join: str = "cat", width: int = 8
) -> TraceBuilder:
    """Steps of 10 ms: in each layer the heads, what joins them and a projection, then a backward pass.

    Args:
        unit: Ops of one head.
        heads: Heads of a layer.
        layers: Layers.
        join: What joins the heads; empty for nothing.
        width: What a head makes of an input of 64; 0 where shapes were not recorded.
    """
    builder = TraceBuilder(None)
    for number in range(3):
        at, first = number * STEP, number * 1_000
        builder.step(number, at, STEP)
        names = [
            *["layer_norm", *unit * heads, *((join,) if join else ()), "linear", "add"] * layers,
            "cross_entropy_loss",
        ]
        for index, name in enumerate(names):
            when = at + 12 * index
            taken = [[8, 32, 64], [8, 64]] if name == "linear" else [[8, 32, 32], [8, 32, width]]
            shapes = {"Input Dims": taken} if width else {}
            builder.op(f"aten::{name}", when, 10, **shapes, **{"Sequence number": first + index})
            if name == "matmul":
                builder.op("aten::bmm", when + 1, 6)
        builder.op(NODE, at + 12 * len(names), 1_000, **{"Sequence number": first + 5})
        builder.optimizer(at + 9_000, 900)
    return builder


def test_heads_one_after_another_cost_what_is_no_product() -> None:
    found = judged(RULE, world()).finding
    assert found.title == "Attention heads one by one"
    assert "8 heads of attention, each with projections of its own, are computed one after another" in found.why
    assert "self.qkv = nn.Linear(width, 3 * heads * size" in found.fix[0].code
    assert found.saving.kind is Figure.ESTIMATE
    assert found.confidence is Confidence.MEDIUM
    assert not found.caveats
    # Sixteen turns of nine ops of 12 us (the last of a row 10), without 6 us in each of two, and the node of 1 ms; 7 of 8 of it.
    loop = 3 * (2 * (8 * (9 * 12 - 12) - 2) + 1_000) * (1 - 1 / 8)
    assert found.saving.claims.total_ns + (found.saving.kernel_ns or 0) == pytest.approx(loop * 1_000, rel=0.02)


def test_heads_that_are_slices_of_one_projection_are_told_without_one() -> None:
    unit = ("slice", "slice", "slice", "transpose", "matmul", "div", "add", "softmax", "matmul")
    found = judged(RULE, world(unit, join="stack")).finding
    assert "projections of its own" not in found.why
    assert "self.qkv" not in found.fix[0].code


@pytest.mark.parametrize(
    "unit",
    [
        # What is added behind the softmax is what came before the layer: the next one needs it.
        pytest.param((*HEAD, "add"), id="adds"),
        pytest.param(("layer_norm", *HEAD), id="normalises"),
        # A softmax without a product before it is a gate, or attention with weights of a layer.
        pytest.param(("linear", "softmax", "mul", "matmul"), id="weighs"),
    ],
)
def test_other_turns_are_no_heads(unit: tuple[str, ...]) -> None:
    assert run(RULE, world(unit, heads=4)).state is State.CLEAR


@pytest.mark.parametrize("builder", [world(join=""), world(heads=3)], ids=["nothing joins them", "three"])
def test_turns_that_nothing_joins_or_that_are_few_are_left(builder: TraceBuilder) -> None:
    assert run(RULE, builder).state is State.CLEAR


def test_without_shapes_layers_that_are_joined_look_the_same() -> None:
    found = judged(RULE, world(width=0)).finding
    assert found.confidence is Confidence.LOW
    assert "those stay" in found.caveats[0]


def test_turns_that_give_as_much_as_they_take_may_be_layers() -> None:
    assert run(RULE, world(width=64)).state is State.CLEAR
