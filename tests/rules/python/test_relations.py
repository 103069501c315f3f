"""Which loops call experts: rows taken, layers, rows written; not the relations of a graph, whose product comes first."""

from __future__ import annotations

import pytest

from analyzer.facts.loops.expert_calls import routes_rows


@pytest.mark.parametrize(
    ("unit", "found"),
    [
        (("index", "linear", "gelu", "linear", "index_add_"), True),
        # A run may begin in the middle of a turn.
        (("linear", "index_add_", "nonzero", "index"), True),
        (("index_select", "mm", "index", "mul", "index_add_"), True),
        (("linear", "index_select", "scatter_add_", "add"), False),
        (("index_select", "scatter_add_", "add", "addmm"), False),
        (("index", "linear", "add"), False),
        (("linear", "relu"), False),
    ],
)
def test_the_order_of_a_turn(unit: tuple[str, ...], found: bool) -> None:
    assert routes_rows([f"aten::{name}" for name in unit]) is found
