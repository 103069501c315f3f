"""Interval sets: one case per geometry, and random ones against sets of integers."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyzer.spans import arrays
from analyzer.spans.intervals import EMPTY, IntervalSet

PAIRS = st.lists(st.tuples(st.integers(0, 60), st.integers(0, 60)), max_size=12)


def naive(pairs: list[tuple[int, int]]) -> set[int]:
    """The nanoseconds of half-open intervals."""
    return {moment for start, end in pairs for moment in range(start, end)}


def moments(intervals: IntervalSet) -> set[int]:
    return naive(intervals.pairs())


def is_normal(intervals: IntervalSet) -> bool:
    pairs = intervals.pairs()
    apart = all(left[1] < right[0] for left, right in itertools.pairwise(pairs))
    return apart and all(start < end for start, end in pairs)


@pytest.mark.parametrize(
    ("given_pairs", "expected"),
    [
        ([], []),
        ([(5, 5)], []),
        ([(7, 3)], []),
        ([(1, 3)], [(1, 3)]),
        ([(4, 6), (1, 3)], [(1, 3), (4, 6)]),
        ([(1, 3), (3, 5)], [(1, 5)]),
        ([(1, 4), (2, 6)], [(1, 6)]),
        ([(1, 9), (2, 3), (5, 6)], [(1, 9)]),
        ([(1, 3), (1, 3)], [(1, 3)]),
        ([(1, 3), (3, 3), (8, 9)], [(1, 3), (8, 9)]),
    ],
    ids=["nothing", "empty", "reversed", "one", "unsorted", "touching", "crossing", "nested", "equal", "empty between"],
)
def test_a_set_is_normal(given_pairs: list[tuple[int, int]], expected: list[tuple[int, int]]) -> None:
    assert IntervalSet.of(given_pairs).pairs() == expected


@pytest.mark.parametrize(
    ("left", "right", "union", "both", "only_left"),
    [
        ([], [(1, 3)], [(1, 3)], [], []),
        ([(1, 3)], [], [(1, 3)], [], [(1, 3)]),
        ([(1, 3)], [(5, 7)], [(1, 3), (5, 7)], [], [(1, 3)]),
        ([(1, 3)], [(3, 5)], [(1, 5)], [], [(1, 3)]),
        ([(1, 4)], [(2, 6)], [(1, 6)], [(2, 4)], [(1, 2)]),
        ([(1, 9)], [(3, 5)], [(1, 9)], [(3, 5)], [(1, 3), (5, 9)]),
        ([(3, 5)], [(1, 9)], [(1, 9)], [(3, 5)], []),
        ([(1, 3)], [(1, 3)], [(1, 3)], [(1, 3)], []),
        ([(1, 10)], [(2, 3), (4, 5), (9, 12)], [(1, 12)], [(2, 3), (4, 5), (9, 10)], [(1, 2), (3, 4), (5, 9)]),
    ],
    ids=["left empty", "right empty", "apart", "touching", "crossing", "around", "inside", "equal", "many"],
)
def test_union_intersection_difference(left, right, union, both, only_left) -> None:
    a, b = IntervalSet.of(left), IntervalSet.of(right)
    assert (a | b).pairs() == union
    assert (a & b).pairs() == both
    assert (a - b).pairs() == only_left


def test_length_truth_and_equality() -> None:
    one = IntervalSet.of([(1, 3), (5, 9)])
    assert (len(one), one.total_ns, bool(one), bool(EMPTY)) == (2, 6, True, False)
    assert one == IntervalSet.of([(5, 9), (1, 2), (2, 3)])
    assert one != IntervalSet.of([(1, 3)])
    assert one != IntervalSet.of([(1, 3), (5, 8)])
    assert one != IntervalSet.of([(1, 3), (6, 9)])
    assert len({one, IntervalSet.of([(1, 3), (5, 9)])}) == 1
    assert one.__eq__("text") is NotImplemented
    assert repr(EMPTY) == "IntervalSet.of([])"
    assert repr(IntervalSet.of((i * 2, i * 2 + 1) for i in range(9))) == "<9 intervals, 9 ns>"


def test_nobody_can_change_a_set() -> None:
    starts = np.array([1, 5])
    made = IntervalSet(starts, np.array([3, 9]))
    starts[0] = 100
    assert made.pairs() == [(1, 3), (5, 9)]
    with pytest.raises(ValueError, match="read-only"):
        made.start_ns[0] = 0
    with pytest.raises(ValueError, match="read-only"):
        made.end_ns[0] = 0


def test_complement_and_clip() -> None:
    one = IntervalSet.of([(1, 3), (5, 9)])
    assert one.complement(0, 10).pairs() == [(0, 1), (3, 5), (9, 10)]
    assert one.complement(2, 6).pairs() == [(3, 5)]
    assert one.complement(20, 30).pairs() == [(20, 30)]
    assert one.clip(2, 6).pairs() == [(2, 3), (5, 6)]
    assert one.clip(9, 9).pairs() == []
    # What lies inside as a whole is not copied.
    assert one.clip(0, 20) is one


def test_scaled_keeps_starts_and_shrinks_lengths() -> None:
    one = IntervalSet.of([(0, 10), (20, 21)])
    assert one.scaled(0.5).pairs() == [(0, 5)]
    assert one.scaled(1.5) is one
    assert one.scaled(-1.0) == EMPTY


def test_times_beyond_float_precision_stay_exact() -> None:
    base = 1_700_000_000_000_000_001
    one = IntervalSet.of([(base, base + 1), (base + 2, base + 3)])
    assert one.total_ns == 2
    assert (one & IntervalSet.of([(base + 2, base + 9)])).pairs() == [(base + 2, base + 3)]


def test_contains_is_half_open() -> None:
    assert IntervalSet.of([(1, 3)]).contains([0, 1, 2, 3]).tolist() == [False, True, True, False]
    assert EMPTY.contains([1, 2]).tolist() == [False, False]


@given(PAIRS, PAIRS)
def test_algebra_agrees_with_sets_of_integers(left: list[tuple[int, int]], right: list[tuple[int, int]]) -> None:
    a, b = IntervalSet.of(left), IntervalSet.of(right)
    x, y = naive(left), naive(right)
    for made, expected in ((a, x), (a | b, x | y), (a & b, x & y), (a - b, x - y)):
        assert moments(made) == expected
        assert is_normal(made)
        assert made.total_ns == len(expected)


@given(PAIRS, st.integers(0, 60), st.integers(0, 60))
def test_parts_agree_with_sets_of_integers(pairs: list[tuple[int, int]], start: int, end: int) -> None:
    made, expected = IntervalSet.of(pairs), naive(pairs)
    between = set(range(start, end))
    assert moments(made.clip(start, end)) == expected & between
    assert moments(made.complement(start, end)) == between - expected
    assert made.contains([start]).tolist() == [start in expected]


@given(PAIRS, PAIRS)
def test_overlap_agrees_with_sets_of_integers(pairs: list[tuple[int, int]], asked: list[tuple[int, int]]) -> None:
    made, expected = IntervalSet.of(pairs), naive(pairs)
    counts = made.overlap_with([start for start, _ in asked], [end for _, end in asked]).tolist()
    assert counts == [len(expected & set(range(start, end))) for start, end in asked]


@given(PAIRS, st.floats(0, 1))
def test_scaled_stays_inside(pairs: list[tuple[int, int]], ratio: float) -> None:
    made = IntervalSet.of(pairs)
    part = made.scaled(ratio)
    assert part - made == EMPTY
    assert part.total_ns <= ratio * made.total_ns + 1e-9


def test_a_set_neither_locks_nor_follows_the_arrays_it_was_made_of() -> None:
    for length in (1, 2):
        start, end = np.arange(0, 10 * length, 10), np.arange(5, 5 + 10 * length, 10)
        made = IntervalSet(start, end)
        start[0] = 2
        end[-1] = 99
        assert made.pairs() == [(0, 5), (10, 15)][:length]


def test_rows_of_a_frame_by_mask_by_position_or_all() -> None:
    frame = pd.DataFrame({"start_ns": [30, 0, 10], "end_ns": [40, 5, 20]})
    assert IntervalSet.of_rows(frame).pairs() == [(0, 5), (10, 20), (30, 40)]
    assert IntervalSet.of_rows(frame, np.array([True, False, True])).pairs() == [(10, 20), (30, 40)]
    assert IntervalSet.of_rows(frame, np.array([1])).pairs() == [(0, 5)]
    assert IntervalSet.of_rows(frame.iloc[:0]) == IntervalSet()


@pytest.mark.parametrize("at_once", [1, 3])
def test_in_pieces_comes_out_what_comes_out_at_once(at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = np.random.default_rng(0)
    starts = drawn.integers(0, 500, (2, 40))
    one, other = (IntervalSet(start, start + drawn.integers(1, 12, 40)) for start in starts)
    asked = drawn.integers(-20, 520, 50)
    whole = [one & other, other & one, one - other]
    lengths = one.overlap_with(asked, asked + 30)
    assert min(map(len, whole)) > 3
    monkeypatch.setattr(arrays, "_AT_ONCE", at_once)
    assert [one & other, other & one, one - other] == whole
    assert one.overlap_with(asked, asked + 30).tolist() == lengths.tolist()
