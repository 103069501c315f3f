"""Which op encloses which: the nearest of a kind, the outermost, and the one around a launch."""

from __future__ import annotations

import numpy as np

from analyzer.facts import Facts
from building.builders import AUTOGRAD, TraceBuilder


def tree() -> Facts:
    """linear > addmm on the main thread, mm on the autograd thread at the same time."""
    builder = TraceBuilder()
    builder.op("aten::linear", 0, 100)
    builder.op("aten::addmm", 10, 50)
    builder.op("aten::mm", 0, 100, thread=AUTOGRAD)
    return Facts(builder.trace())


def row(facts: Facts, name: str) -> int:
    return int(np.flatnonzero((facts.trace.ops["name"] == name).to_numpy())[0])


def test_nearest_is_itself_or_an_ancestor_on_its_own_thread() -> None:
    facts = tree()
    nearest = facts.host.ops.nearest(facts.host.ops.named(lambda name: name == "aten::linear"))
    assert nearest[row(facts, "aten::addmm")] == row(facts, "aten::linear")
    assert nearest[row(facts, "aten::linear")] == row(facts, "aten::linear")
    assert nearest[row(facts, "aten::mm")] == -1


def test_outermost_drops_ops_inside_another_of_the_kind() -> None:
    facts = tree()
    outer = facts.host.ops.outermost(facts.host.ops.named(lambda name: name.startswith("aten::")))
    assert sorted(facts.trace.ops["name"].astype(str)[outer]) == ["aten::linear", "aten::mm"]


def test_enclosing_finds_the_innermost_open_op() -> None:
    facts = tree()
    main = int(facts.trace.ops["thread"].iloc[row(facts, "aten::linear")])
    other = int(facts.trace.ops["thread"].iloc[row(facts, "aten::mm")])
    at = np.array([5_000, 10_000, 20_000, 20_000, 60_000, 100_000, 20_000], dtype=np.int64)
    thread = np.array([main, main, main, main, main, main, other], dtype=np.int64)
    found = facts.host.ops.enclosing(thread, at)
    linear, addmm, mm = (row(facts, f"aten::{name}") for name in ("linear", "addmm", "mm"))
    assert found.tolist() == [linear, addmm, addmm, addmm, linear, -1, mm]


def test_no_ops_at_all() -> None:
    facts = Facts(TraceBuilder().kernel("k", 0, 10).trace())
    assert facts.host.ops.enclosing(np.array([0]), np.array([5])).tolist() == [-1]
