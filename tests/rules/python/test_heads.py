"""PY003: heads of attention computed one after another, and layers that only look like it."""

from __future__ import annotations

import pytest

from analyzer.finding import Figure, State
from building.builders import TraceBuilder
from rules.python.repeated_small_ops import RULE
from running.one_rule import judged, run

STEP = 10_000
HEAD = ("linear", "linear", "transpose", "matmul", "mul", "masked_fill", "softmax", "linear", "matmul")
NODE = "autograd::engine::evaluate_function: BmmBackward0"


def world(unit: tuple[str, ...] = HEAD, *, heads: int = 8, layers: int = 2, join: str = "cat") -> TraceBuilder:
    """Steps of 10 ms: in each layer the heads, what joins them and a projection, then a backward pass."""
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
            builder.op(f"aten::{name}", when, 10, **{"Sequence number": first + index})
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
