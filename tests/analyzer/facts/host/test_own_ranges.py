"""The program's own range around some time of its thread: its word for what it does there."""

from __future__ import annotations

import pytest

from analyzer.facts import Facts
from analyzer.spans.intervals import IntervalSet
from building.builders import TraceBuilder

MS = 1_000_000


def around(*ranges: tuple[str, float, float], start: float = 1, end: float = 3) -> str | None:
    """What is told of milliseconds `start` to `end` of each of three steps of ten, with ranges at such milliseconds of each."""
    builder = TraceBuilder(None)
    for number in range(3):
        at = number * 10_000.0
        builder.step(number, at, 10_000)
        builder.op("aten::linear", at + 5_000, 5_000)
        for name, since, until in ranges:
            builder.annotation(name.format(number), at + since * 1_000, (until - since) * 1_000)
    facts = Facts(builder.trace())
    wanted = [(int((number * 10 + start) * MS), int((number * 10 + end) * MS)) for number in range(3)]
    return facts.host.range_around(IntervalSet.of(wanted))


@pytest.mark.parametrize(
    ("ranges", "found"),
    [
        ((("data", 0.5, 3.5),), "data"),
        ((("outer", 0.2, 5), ("data {0}", 0.5, 3.5)), "data #"),
        ((("data", 4, 6),), None),
        ((("data", 2.5, 6),), None),
        ((("iteration", 0, 10),), None),
        ((), None),
    ],
    ids=["around it", "the inner one", "elsewhere", "around a part", "the whole step", "none"],
)
def test_the_shortest_range_around_most_of_it_is_told(
    ranges: tuple[tuple[str, float, float], ...], found: str | None
) -> None:
    assert around(*ranges) == found
