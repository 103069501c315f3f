"""Rows by the number they share, against plain loops over them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyzer.spans.grouping import chosen, columns_at, distinct, numbered, rows_by, running_sums_by, sums_by

# Small ones, as of threads and streams, and any that a file may hold.
NUMBERS = st.lists(st.one_of(st.integers(0, 3), st.integers(-(2**62), 2**62)), max_size=12)


def array(values: list[int]) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.array(values, dtype=np.int64)


@given(NUMBERS)
def test_rows_of_each_number_are_all_of_them_in_order(values: list[int]) -> None:
    found = {number: rows.tolist() for number, rows in rows_by(array(values)).items()}
    assert list(found) == sorted(set(values))
    assert found == {one: [row for row, value in enumerate(values) if value == one] for one in set(values)}


@given(NUMBERS)
def test_each_number_is_told_once_and_in_order(values: list[int]) -> None:
    assert distinct(array(values)).tolist() == sorted(set(values))


@given(NUMBERS)
def test_numbers_are_replaced_by_their_place_among_them(values: list[int]) -> None:
    places, count = numbered(array(values))
    distinct = sorted(set(values))
    assert count == len(distinct)
    assert places.tolist() == [distinct.index(value) for value in values]


@given(NUMBERS)
def test_running_sums_start_anew_for_each_number(values: list[int]) -> None:
    amounts = [3**row for row in range(len(values))]
    expected = [
        sum(amounts[other] for other in range(row + 1) if values[other] == value) for row, value in enumerate(values)
    ]
    assert running_sums_by(array(values), array(amounts)).tolist() == expected


def test_sums_stay_exact_where_floats_would_not() -> None:
    large = 2**60 + 1
    counts, totals = sums_by(array([1, 0, 1]), array([large, 5, 1]), 3)
    assert counts.tolist() == [1, 2, 0]
    assert totals.tolist() == [5, large + 1, 0]


@pytest.mark.parametrize("mask", [[True, False], [False, False]])
def test_chosen_rows_keep_their_columns_and_index(mask: list[bool]) -> None:
    frame = pd.DataFrame({"start_ns": [1, 2], "name": pd.Categorical(["a", "b"])}, index=[7, 9])
    pd.testing.assert_frame_equal(chosen(frame, np.array(mask)), frame[mask])


@pytest.mark.parametrize("rows", [[], [2, 0], [True, False, True]], ids=["none", "places", "mask"])
def test_some_columns_of_some_rows_are_those_of_the_frame(rows: list[int]) -> None:
    frame = pd.DataFrame({"a": [1, 2, 3], "b": pd.Categorical(["x", None, "y"]), "c": [0.5, 1.5, 2.5]})
    picked = np.array(rows, dtype=None if rows else np.int64)
    found = columns_at(frame, picked, ["b", "a"])
    assert found.to_dict("list") == frame[["b", "a"]].iloc[picked].to_dict("list")
    assert list(columns_at(frame.iloc[:0], picked[:0], ["a"])["a"]) == []
