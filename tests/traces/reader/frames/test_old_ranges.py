"""The program's ranges in traces of torch 1.8 to 1.12, which give them the category of operators."""

from __future__ import annotations

import pytest

from analyzer.facts import Facts
from building.builders import TraceBuilder
from building.dialects import torch_1_8, torch_1_9
from traces.trace import Trace

RANGE = "DistributedDataParallel.forward"


def world(name: str = RANGE, *, holds: int = 3) -> TraceBuilder:
    """Three steps of 1000 us: a range of 900 us with, in `holds` of them, two operators of 100 us each; a node of the backward."""
    builder = TraceBuilder(None)
    for number in range(3):
        at = number * 1_000
        builder.step(number, at, 1_000).annotation(name, at, 800)
        builder.op("detach_", at + 810, 20)
        if number < holds:
            builder.op("aten::linear", at + 100, 100)
            builder.op("aten::linear", at + 500, 100)
        builder.op("AddmmBackward", at + 850, 100)
        builder.op("aten::mm", at + 860, 80)
    return builder


def ranges(trace: Trace) -> list[tuple[str, str]]:
    return list(zip(trace.annotations["name"], trace.annotations["kind"], strict=True))


@pytest.mark.parametrize("dialect", [torch_1_8, torch_1_9])
def test_a_range_is_told_by_what_it_holds(dialect: object) -> None:
    new, old = Facts(world().trace()), Facts(dialect(world()).trace())  # type: ignore[operator]
    assert set(ranges(old.trace)) == {(RANGE, "user")} == set(ranges(new.trace))
    assert {"detach_", "aten::linear", "AddmmBackward"} <= set(old.trace.ops["name"].cat.categories)
    assert RANGE not in set(old.trace.ops["name"].cat.categories)
    assert old.time.waterfall.owned("python") == new.time.waterfall.owned("python")
    assert old.time.waterfall.owned("compute").total_ns == 3 * (200 + 20 + 100) * 1_000


def test_its_kind_is_that_of_any_range() -> None:
    assert set(ranges(torch_1_9(world("get_batch")).trace())) == {("get_batch", "loader")}


@pytest.mark.parametrize(("holds", "found"), [(1, 0), (2, 3)])
def test_most_of_a_name_decide_for_all(holds: int, found: int) -> None:
    assert len(torch_1_9(world(holds=holds)).trace().annotations) == found


@pytest.mark.parametrize("name", ["mine::forward", "MyFunctionBackward"])
def test_an_operator_stays_one(name: str) -> None:
    assert not len(torch_1_9(world(name)).trace().annotations)


def test_newer_traces_say_themselves_what_a_range_is() -> None:
    builder = world()
    for event in builder.events:
        if event["name"] == RANGE:
            event["cat"] = "cpu_op"
    assert not len(builder.trace().annotations)


def test_one_on_another_thread_holds_nothing() -> None:
    builder = world()
    for event in builder.events:
        if event["name"] == RANGE:
            event["tid"] = 7
    assert not len(torch_1_9(builder).trace().annotations)
