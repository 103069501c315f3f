"""Categorical columns from codes, with a vocabulary met before and without."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from traces.categories import from_codes


@pytest.mark.parametrize("size", [0, 1, 64, 65, 300])
def test_it_is_the_one_that_pandas_makes(size: int) -> None:
    vocabulary = [f"name {number}" for number in range(size)]
    codes = np.array([-1, *range(size)], dtype=np.int64)
    for _ in range(2):
        made = from_codes(codes, vocabulary)
        expected = pd.Categorical.from_codes(codes, categories=vocabulary)
        pd.testing.assert_extension_array_equal(made, expected)
        assert made.categories.dtype == expected.categories.dtype


def test_another_order_is_another_vocabulary() -> None:
    codes = np.array([0, 1], dtype=np.int64)
    assert from_codes(codes, ["a", "b"]).tolist() == ["a", "b"]
    assert from_codes(codes, ["b", "a"]).tolist() == ["b", "a"]


def test_a_code_without_a_text_is_refused() -> None:
    for _ in range(2):
        with pytest.raises(ValueError, match="codes"):
            from_codes(np.array([2], dtype=np.int64), ["a", "b"])
