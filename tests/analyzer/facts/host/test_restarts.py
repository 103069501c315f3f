"""Restarts of a loader's iterator where the thread's ops are odd."""

from __future__ import annotations

import pytest

from analyzer.facts import Facts
from building.builders import TraceBuilder


@pytest.mark.parametrize("thread", [4242, 4300])
def test_ops_that_are_nothing_but_reads_of_a_seed(thread: int) -> None:
    builder = TraceBuilder(None).step(1, 0, 1_000).loader(10, 100, workers=1)
    builder.op("aten::item", 300, 100)
    # Somewhere in the trace a seed is drawn, on the thread that reads it or on another.
    builder.op("aten::random_", 310 if thread == 4300 else 450, 10, thread)
    assert not Facts(builder.trace()).host.restarts


def test_a_seed_read_last_is_still_one() -> None:
    builder = TraceBuilder(None)
    for number in range(2):
        at = number * 1_000
        builder.step(number, at, 1_000)
        builder.op("aten::random_", at + 10, 5)
        builder.op("aten::item", at + 20, 5)
        builder.loader(at + 100, 300, workers=1)
        builder.op("aten::mm", at + 500, 300)
    assert len(Facts(builder.trace()).host.restarts) == 2
