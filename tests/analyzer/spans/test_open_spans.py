"""What is open at a moment, held against looking at every span."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyzer.spans.nesting import nest
from analyzer.spans.open_spans import NONE, OpenSpans


def arrays(*columns: list[int]) -> list[np.ndarray[tuple[int], np.dtype[np.int64]]]:
    return [np.array(column, dtype=np.int64) for column in columns]


@st.composite
def trees(draw: st.DrawFn) -> list[tuple[int, int, int]]:
    """Properly nested spans of two threads: (thread, start, end)."""
    spans: list[tuple[int, int, int]] = []

    def fill(thread: int, begin: int, end: int, depth: int) -> None:
        at = begin
        for _ in range(draw(st.integers(0, 3))):
            start = draw(st.integers(at, end))
            stop = draw(st.integers(start, end))
            if stop > start:
                spans.append((thread, start, stop))
                if depth:
                    fill(thread, start, stop, depth - 1)
            at = stop

    for thread in (3, 7):
        fill(thread, 0, 40, 3)
    return draw(st.permutations(spans))


@given(trees())
def test_the_innermost_open_span_is_found(spans: list[tuple[int, int, int]]) -> None:
    thread, start, end = arrays(*map(list, zip(*spans, strict=True))) if spans else arrays([], [], [])
    asked = [(lane, at) for lane in (3, 7, 9) for at in range(-1, 42)]
    found = OpenSpans(thread, start, end).at(*arrays(*map(list, zip(*asked, strict=True))))
    for (lane, at), row in zip(asked, found.tolist(), strict=True):
        around = [span for span in spans if span[0] == lane and span[1] <= at < span[2]]
        if not around:
            assert row == NONE
        else:
            shortest = min(stop - begin for _, begin, stop in around)
            assert spans[row] in around
            assert spans[row][2] - spans[row][1] == shortest


@pytest.mark.parametrize(("at", "row"), [(0, 0), (4, 1), (9, 1), (10, 1), (14, 1), (15, NONE)])
def test_of_spans_that_cross_the_later_one_counts(at: int, row: int) -> None:
    thread, start, end, when = arrays([1, 1], [0, 4], [10, 15], [at])
    assert OpenSpans(thread, start, end).at(np.ones(1, dtype=np.int64), when).tolist() == [row]


def test_an_empty_span_lasts_a_nanosecond() -> None:
    thread, start, end, when = arrays([1], [5], [5], [4, 5, 6])
    assert OpenSpans(thread, start, end).at(np.ones(3, dtype=np.int64), when).tolist() == [NONE, 0, NONE]


def test_a_known_tree_is_not_worked_out_again() -> None:
    thread, start, end, when = arrays([1, 1], [0, 2], [9, 4], [5])
    known = nest(thread, start, end).parent
    assert OpenSpans(thread, start, end, known).at(np.ones(1, dtype=np.int64), when).tolist() == [0]
