"""How much a rank has to compute: what layers without a formula have inside, and the products of each step."""

from __future__ import annotations

from typing import Any

import pytest

from analyzer.facts import Facts
from analyzer.job.work import worked
from building.builders import TraceBuilder

WIDTH = 512
ROWS = (74, 177, 128)


def layers(*, shapes: bool = True) -> Facts:
    """A step each of a linear layer for other rows, and of an op that has no formula and none inside."""
    builder = TraceBuilder(None)
    for step, rows in enumerate(ROWS):
        at = step * 10_000.0
        linear = [[rows, WIDTH], [WIDTH, WIDTH], [WIDTH]]
        product = [[WIDTH], [rows, WIDTH], [WIDTH, WIDTH], [], []]
        builder.op("aten::linear", at, 5_000, **dims(linear, shapes=shapes))
        builder.op("aten::addmm", at + 100, 4_000, **dims(product, shapes=shapes))
        builder.op("mine::sort", at + 6_000, 1_000, **dims([[rows]], shapes=shapes))
        builder.step(step, at, 9_000)
    return Facts(builder.trace())


def dims(values: list[list[int]], *, shapes: bool) -> dict[str, Any]:
    return {"Input Dims": values, "Input type": ["float"] * len(values)} if shapes else {}


def test_a_layer_without_a_formula_has_to_do_what_is_inside() -> None:
    rows = worked(layers()).rows
    found = sorted(row.work for row in rows if row.name == "aten::linear" and row.work is not None)
    assert found == pytest.approx([2 * rows * WIDTH**2 for rows in sorted(ROWS)], rel=0.01)
    assert {row.work for row in rows if row.name == "mine::sort"} == {None}


def test_each_step_has_its_products() -> None:
    assert worked(layers()).product_flops == pytest.approx([2 * rows * WIDTH**2 for rows in ROWS], rel=0.01)


def test_without_shapes_nobody_knows_how_much_there_is_to_compute() -> None:
    facts = layers(shapes=False)
    assert worked(facts).product_flops == (None, None, None)
    assert {row.work for row in worked(facts).rows} == {None}
