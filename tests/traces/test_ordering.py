"""Numbers among sorted ones."""

from __future__ import annotations

import numpy as np
import pytest

from traces.ordering import found_in


@pytest.mark.parametrize("ordered", [[], [0], [-5, -5, 0, 3, 3, 3, 9]])
def test_numbers_are_found_where_they_stand_first(ordered: list[int]) -> None:
    asked = list(range(-7, 12))
    place, there = found_in(np.array(ordered, dtype=np.int64), np.array(asked))
    assert there.tolist() == [one in ordered for one in asked]
    assert place[there].tolist() == [ordered.index(one) for one in asked if one in ordered]


def test_no_number_is_never_there() -> None:
    _, there = found_in(np.array([1.0, 2.0]), np.array([np.nan, 2.0]))
    assert there.tolist() == [False, True]
