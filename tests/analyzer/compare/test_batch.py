"""When two sides have another batch: what a layer is given first is one only where the steps agree."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from analyzer.assemble import assemble
from analyzer.compare.snapshot import snapshot
from analyzer.engine.trust import grade
from analyzer.facts import Facts
from building.builders import TraceBuilder


def batch(
    sizes: Sequence[int], *, op: str = "aten::linear", marked: bool = True, recorded: int | None = None
) -> int | None:
    """Of one layer a step, its input with so many rows (or images) in each."""
    top = {} if recorded is None else {"advisor": {"batch_size": recorded}}
    builder = TraceBuilder(None, top=top)
    for number, rows in enumerate(sizes):
        at = number * 1_000
        if marked:
            builder.step(number, at, 1_000)
        dims = [[rows, 3, 32, 32], [8, 3, 3, 3]] if "conv" in op else [[rows, 64], [64, 10], []]
        builder.op(op, at + 10, 500, **{"Input Dims": dims})
    facts = Facts(builder.trace())
    return snapshot(assemble(facts, grade(facts), (), ()), facts).conditions.batch


@pytest.mark.parametrize("op", ["aten::linear", "aten::conv2d"])
def test_equal_first_dimensions_of_marked_steps_are_a_batch(op: str) -> None:
    assert batch([32, 32, 32, 32], op=op) == 32


def test_tokens_that_differ_from_step_to_step_are_no_batch() -> None:
    assert batch([32, 17, 203, 32]) is None


def test_tokens_of_a_window_without_marks_are_no_batch_and_images_are() -> None:
    assert batch([1024], marked=False) is None
    assert batch([64], op="aten::conv2d", marked=False) == 64


def first_layers(*layers: dict[str, object]) -> int | None:
    """Of three steps that begin with the same layers, each with its name and arguments."""
    builder = TraceBuilder(None)
    for number in range(3):
        builder.step(number, number * 1_000, 1_000)
        for index, layer in enumerate(layers):
            builder.op("aten::addmm", number * 1_000 + 10 + index * 100, 90, **layer)
    facts = Facts(builder.trace())
    return snapshot(assemble(facts, grade(facts), (), ()), facts).conditions.batch


def test_a_bias_is_no_batch() -> None:
    assert first_layers({"Input Dims": [[10], [32, 64], [64, 10], [], []]}) == 32


def test_a_layer_without_shapes_tells_nothing_and_the_next_one_does() -> None:
    assert first_layers({}, {"Input Dims": [[10], [32, 64], [64, 10], [], []]}) == 32


def test_what_was_recorded_is_believed() -> None:
    assert batch([32, 17, 203, 32], recorded=16) == 16
