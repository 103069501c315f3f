"""What a file states is taken where it has the shape it should, whatever it is."""

from __future__ import annotations

from typing import Any

import pytest

from analyzer.facts.recording import stated


@pytest.mark.parametrize(
    ("value", "whole"),
    [(4, 4), (0, 0), ("12", 12), (-1, None), (True, None), (4.0, None), ("9" * 10, None), ("²", None), ("4²", None), ([], None)],
)  # fmt: skip
def test_a_whole_number_is_one_or_the_digits_of_a_short_one(value: Any, whole: int | None) -> None:
    """A raised two is a digit to Python, and no number."""
    assert stated.whole_of(value) == whole


@pytest.mark.parametrize(
    ("values", "mean"), [([1, 3.0], 2.0), ([], None), ([1, 5], None), ([-1], None), ([True], None), ("1", None)]
)
def test_a_mean_is_of_numbers_within_bounds_alone(values: Any, mean: float | None) -> None:
    assert stated.mean_of(values, 5) == mean


@pytest.mark.parametrize(("value", "version"), [("2.15.0+cu132", (2, 15)), ("2", None), ("v2.1", None), (2.1, None)])
def test_a_version_is_of_two_numbers(value: Any, version: tuple[int, int] | None) -> None:
    assert stated.version_of(value) == version
