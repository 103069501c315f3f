"""Numbers among sorted ones, and rows in the order of several keys."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from traces.ordering import found_in, in_order


@pytest.mark.parametrize("ordered", [[], [0], [-5, -5, 0, 3, 3, 3, 9]])
def test_numbers_are_found_where_they_stand_first(ordered: list[int]) -> None:
    asked = list(range(-7, 12))
    place, there = found_in(np.array(ordered, dtype=np.int64), np.array(asked))
    assert there.tolist() == [one in ordered for one in asked]
    assert place[there].tolist() == [ordered.index(one) for one in asked if one in ordered]


def test_no_number_is_never_there() -> None:
    _, there = found_in(np.array([1.0, 2.0]), np.array([np.nan, 2.0]))
    assert there.tolist() == [False, True]


_KEY = st.sampled_from([0, 1, 2, -1, (1 << 15) - 1, -(1 << 15), 1 << 15, 1 << 40, -(1 << 62)])


@given(
    st.integers(1, 3).flatmap(
        lambda keys: st.lists(st.tuples(*[_KEY] * keys), max_size=20).map(lambda rows: (keys, rows))
    )
)
def test_rows_are_in_the_order_of_their_keys(keys_and_rows: tuple[int, list[tuple[int, ...]]]) -> None:
    count, rows = keys_and_rows
    keys = np.array(rows, dtype=np.int64).reshape(-1, count).T
    assert in_order(*keys).tolist() == sorted(range(len(rows)), key=lambda row: rows[row][::-1])
