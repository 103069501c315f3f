"""A loop over pairs of vectors multiplies two of them each turn: one element of a matrix, and no layer of the model."""

from __future__ import annotations

import pytest

from analyzer.facts import Facts
from analyzer.finding import State
from building.builders import TraceBuilder
from rules.python.element_loop import RULE
from running.one_rule import judged, run

PAIRS = 60


def world(inside: str, *, nested: bool = True) -> TraceBuilder:
    """Three steps of 2 ms: a layer, then for each pair two rows taken and multiplied by an op, inside matmul or alone."""
    builder = TraceBuilder(None)
    for number in range(3):
        at = number * 2_000
        builder.step(number, at, 2_000)
        builder.op("aten::linear", at, 190, **{"Sequence number": number * 1_000})
        builder.op("aten::addmm", at + 5, 180)
        for index in range(PAIRS):
            when = at + 200 + index * 24
            builder.op("aten::select", when, 4)
            builder.op("aten::select", when + 6, 4, **{"Sequence number": number * 1_000 + index + 1})
            if nested:
                builder.op("aten::matmul", when + 12, 10)
            builder.op(inside, when + 13, 8)
        for node, when, of in (
            ("SelectBackward0", 1_750, number * 1_000 + 1),
            ("AddmmBackward0", 1_800, number * 1_000),
        ):
            builder.op(f"autograd::engine::evaluate_function: {node}", at + when, 40, **{"Sequence number": of})
    return builder


@pytest.mark.parametrize("nested", [True, False], ids=["a @ b", "a.dot(b)"])
def test_products_of_two_vectors_are_elements_of_one_of_matrices(nested: bool) -> None:
    found = judged(RULE, world("aten::dot", nested=nested))
    assert found.ratio == pytest.approx(PAIRS * 24 / 2_000, abs=0.06)
    assert found.finding.title == "Loss computed in a Python loop"
    assert "+rows = a @ b.T" in found.finding.fix[0].code


@pytest.mark.parametrize("inside", ["aten::mv", "aten::mm"])
def test_a_product_with_a_matrix_stays_a_layer(inside: str) -> None:
    """Each turn of a recurrence multiplies its state by the weights."""
    builder = world(inside)
    assert run(RULE, builder).state is State.CLEAR
    assert all(loop.of_layers for loop in Facts(builder.trace()).loops.found)
