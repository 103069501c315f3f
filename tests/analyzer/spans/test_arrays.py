"""Positions that are kept in four bytes say the same as in eight."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyzer.spans.arrays import narrow, narrow_depths
from analyzer.spans.nesting import nest, own_ns

MOST = np.iinfo(np.int32).max
SPANS = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 30), st.integers(1, 12)), min_size=1, max_size=30)


@pytest.mark.parametrize(
    ("values", "size"),
    [([], 4), ([0, MOST], 4), ([-1, 5], 4), ([-MOST], 4), ([0, MOST + 1], 8), ([-MOST - 2, 0], 8), ([1 << 62], 8)],
)
def test_what_fits_takes_four_bytes_and_nothing_is_changed(values: list[int], size: int) -> None:
    made = narrow(np.array(values, dtype=np.int64))
    assert made.tolist() == values
    assert made.itemsize == size


@pytest.mark.parametrize(
    ("values", "size"), [([], 2), ([0, 32_767], 2), ([0, 32_768], 4), ([-32_769], 4), ([0, MOST + 1], 8)]
)
def test_depths_that_fit_take_two_bytes(values: list[int], size: int) -> None:
    made = narrow_depths(np.array(values, dtype=np.int64))
    assert made.tolist() == values
    assert made.itemsize == size


@given(SPANS, st.sampled_from([1 << 31, 1 << 33, 1 << 40]))
def test_times_beyond_four_bytes_nest_as_small_ones(spans: list[tuple[int, int, int]], far: int) -> None:
    thread, start, long = (np.array(column, dtype=np.int64) for column in zip(*spans, strict=True))
    # Each moment as long as `far`, so that lengths and what lies between are beyond it as well.
    near = nest(thread, start, start + long)
    away = nest(thread, far * start, far * (start + long))
    assert (near.parent.itemsize, near.depth.itemsize) == (4, 2)
    assert away.parent.tolist() == near.parent.tolist()
    assert away.depth.tolist() == near.depth.tolist()
    own = own_ns(far * long, away.parent)
    inside = [0] * len(spans)
    for row, around in enumerate(away.parent.tolist()):
        if row != around:
            inside[around] += far * int(long[row])
    # Of so few the sums are exact as floats too.
    assert own.tolist() == [far * one - held for one, held in zip(long.tolist(), inside, strict=True)]
