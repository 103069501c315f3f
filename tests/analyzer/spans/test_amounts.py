"""What spans may be held to account for: no more of the time behind them than they lasted."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyzer.spans.amounts import no_more_than
from analyzer.spans.intervals import EMPTY, IntervalSet


def taken(spans: list[tuple[int, int]], time: list[tuple[int, int]], until: list[int]) -> list[tuple[int, int]]:
    return no_more_than(IntervalSet.of(spans), IntervalSet.of(time), np.array(until, dtype=np.int64)).pairs()


def test_no_more_than_the_span_lasted() -> None:
    assert taken([(0, 10)], [(10, 100)], [100]) == [(10, 20)]
    # A gap in the time is not counted.
    assert taken([(0, 10)], [(15, 20), (50, 100)], [100]) == [(15, 20), (50, 55)]


def test_not_past_the_end_of_what_may_be_its_own() -> None:
    assert taken([(0, 10)], [(10, 100)], [14]) == [(10, 14)]


def test_what_one_leaves_the_next_takes() -> None:
    # As of a copy to the host that waits, and the synchronisation behind it that finds nothing left to wait for.
    assert taken([(0, 10), (11, 12)], [(10, 11), (12, 100)], [100, 100]) == [(10, 11), (12, 22)]
    # Used up in between, nothing is handed on.
    assert taken([(0, 1), (50, 60)], [(1, 50), (60, 100)], [100, 100]) == [(1, 2), (60, 70)]


def test_nothing_is_handed_on_to_another_group() -> None:
    assert taken([(0, 10), (20, 21)], [(10, 12), (21, 100)], [15, 100]) == [(10, 12), (21, 22)]


@pytest.mark.parametrize(("spans", "time"), [([], [(0, 1)]), ([(0, 1)], [])])
def test_nothing_of_nothing(spans: list[tuple[int, int]], time: list[tuple[int, int]]) -> None:
    assert no_more_than(IntervalSet.of(spans), IntervalSet.of(time), np.full(len(spans), 9)) == EMPTY


@given(
    st.lists(st.integers(0, 60), min_size=2, max_size=16, unique=True),
    st.lists(st.integers(0, 80), max_size=20),
    st.data(),
)
def test_as_one_by_one(cuts: list[int], edges: list[int], data: st.DataObject) -> None:
    cuts = sorted(cuts)[: len(cuts) // 2 * 2]
    spans = IntervalSet(cuts[::2], cuts[1::2])
    edges = sorted(edges)[: len(edges) // 2 * 2]
    time = IntervalSet(edges[::2], edges[1::2]) - spans
    groups = sorted(data.draw(st.lists(st.integers(0, 90), min_size=1, max_size=4)))
    until = np.array([next((g for g in groups if g >= end), end) for end in spans.end_ns.tolist()], dtype=np.int64)
    expected: list[tuple[int, int]] = []
    left, before = 0, None
    for index, (begin, end) in enumerate(spans.pairs()):
        left = (left if until[index] == before else 0) + end - begin
        before = until[index]
        limit = min(until[index], spans.start_ns[index + 1] if index + 1 < len(spans) else 99)
        for moment in range(end, int(limit)):
            if left and time.contains([moment])[0]:
                expected.append((moment, moment + 1))
                left -= 1
    assert no_more_than(spans, time, until) == IntervalSet.of(expected)
