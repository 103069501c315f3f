"""Which span encloses which: one case per geometry, and random ones against a stack."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analyzer.spans.nesting import levels, nest, outer_first_per_thread

SPANS = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 40), st.integers(0, 20)), max_size=14)


def of(*spans: tuple[int, int, int]) -> tuple[list[int], list[int]]:
    """Parents and depths of (thread, start, end) spans."""
    result = nest([span[0] for span in spans], [span[1] for span in spans], [span[2] for span in spans])
    return result.parent.tolist(), result.depth.tolist()


def test_nothing() -> None:
    assert of() == ([], [])


def test_children_follow_their_parent() -> None:
    assert of((0, 0, 100), (0, 10, 50), (0, 20, 30), (0, 60, 70)) == ([0, 0, 1, 0], [0, 1, 2, 1])


def test_siblings_that_touch_do_not_nest() -> None:
    assert of((0, 0, 10), (0, 10, 20)) == ([0, 1], [0, 0])


def test_an_op_nested_in_itself_has_one_parent() -> None:
    assert of((0, 0, 10), (0, 0, 10), (0, 0, 10)) == ([0, 0, 1], [0, 1, 2])


def test_order_of_rows_does_not_matter() -> None:
    assert of((0, 20, 30), (0, 0, 100), (0, 10, 50)) == ([2, 1, 1], [2, 0, 1])


def test_threads_are_apart() -> None:
    assert of((0, 0, 100), (7, 10, 50), (0, 10, 50), (7, 20, 30)) == ([0, 1, 0, 1], [0, 0, 1, 1])


def test_threads_below_zero_are_threads() -> None:
    assert of((-1, 0, 100), (0, 10, 50), (-1, 20, 30)) == ([0, 1, 0], [0, 0, 1])


@pytest.mark.parametrize("first_thread", [0, -5, 10**9])
def test_times_beyond_what_fits_beside_a_thread_nest_like_others(first_thread: int) -> None:
    late = 4 * 10**18
    spans = [(0, 0, 100), (0, 10, 50), (2, 5, late + 9), (2, late, late + 5), (2, late + 1, late + 3), (1, 0, late)]
    # So many threads that thread x time fits no 64 bits.
    spans += [(3, 0, late), (4, 0, late), (4, late - 1, late)]
    moved = [(thread + first_thread, start, end) for thread, start, end in spans]
    assert of(*moved) == ([0, 0, 2, 2, 3, 5, 6, 7, 7], [0, 1, 0, 1, 2, 0, 0, 0, 1])


def test_zero_length_spans_nest_like_others() -> None:
    assert of((0, 0, 10), (0, 5, 5), (0, 10, 10)) == ([0, 0, 2], [0, 1, 0])


def test_crossing_spans_break_nothing() -> None:
    parents, depths = of((0, 0, 10), (0, 5, 15), (0, 12, 14))
    assert depths == [0, 1, 1]
    # The last one starts when only the second is open; it gets that one or none, never the one that has ended.
    assert parents[1] == 0
    assert parents[2] in (1, 2)


def test_roots() -> None:
    assert nest([0, 0, 0], [0, 1, 20], [10, 2, 30]).is_root.tolist() == [True, False, True]


def test_rows_by_thread_and_start_the_longest_first() -> None:
    thread, start, end = (np.array(column) for column in ([1, 0, 0, 1, 0], [0, 5, 0, 0, 0], [9, 6, 2, 10, 3]))
    assert outer_first_per_thread(thread, start, end).tolist() == [4, 2, 1, 3, 0]
    assert outer_first_per_thread(thread[:0], start[:0], end[:0]).tolist() == []


def test_levels_stand_outermost_first() -> None:
    assert [rows.tolist() for rows in levels(np.array([1, 0, 2, 1, 0]))] == [[1, 4], [0, 3], [2]]
    assert levels(np.array([], dtype=np.int64)) == []


def opened(spans: list[tuple[int, int, int]], row: int) -> list[int]:
    """Rows open when a row starts, outermost first."""
    order = sorted(range(len(spans)), key=lambda r: (spans[r][0], spans[r][1], -spans[r][2], r))
    thread, start, _ = spans[row]
    before = order[: order.index(row)]
    return [r for r in before if spans[r][0] == thread and spans[r][2] > start]


@settings(deadline=None)
@given(SPANS)
def test_depth_counts_open_spans_and_parents_are_open(given_spans: list[tuple[int, int, int]]) -> None:
    spans = [(thread, start, start + max(length, 1)) for thread, start, length in given_spans]
    parents, depths = of(*spans)
    for row in range(len(spans)):
        around = opened(spans, row)
        assert depths[row] == len(around)
        assert parents[row] == row or parents[row] in around


@settings(deadline=None)
@given(SPANS)
def test_proper_nesting_agrees_with_a_stack(given_spans: list[tuple[int, int, int]]) -> None:
    spans: list[tuple[int, int, int]] = []
    for thread, start, length in sorted(given_spans):
        end = start + max(length, 1)
        # Cut each span at the end of what is open, so that none crosses.
        for other_thread, other_start, other_end in spans:
            if other_thread == thread and other_start <= start < other_end < end:
                end = other_end
        spans.append((thread, start, end))
    crosses = any(a[0] == b[0] and a[1] < b[1] < a[2] < b[2] for a in spans for b in spans)
    if crosses:
        return
    parents, _ = of(*spans)
    for row in range(len(spans)):
        around = opened(spans, row)
        assert parents[row] == (around[-1] if around else row)
