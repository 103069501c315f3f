"""Stretches of rows, and the last of some moments before others."""

from __future__ import annotations

import numpy as np
import pytest

from analyzer.spans.moments import last_before
from analyzer.spans.stretches import stretches

NEVER = np.iinfo(np.int64).min


@pytest.mark.parametrize(
    ("holds", "first", "behind"),
    [
        ("", [], []),
        ("..", [], []),
        ("xx", [0], [2]),
        (".xx.x", [1, 4], [3, 5]),
        ("x.xx.", [0, 2], [1, 4]),
    ],
)
def test_stretches_are_from_their_first_row_to_the_one_behind_their_last(
    holds: str, first: list[int], behind: list[int]
) -> None:
    found = stretches(np.array([one == "x" for one in holds], dtype=np.bool_))
    assert [part.tolist() for part in found] == [first, behind]


def test_a_moment_at_the_time_itself_is_before_it_only_where_that_is_asked() -> None:
    moments, at = np.array([10, 20]), np.array([5, 10, 15, 20, 25])
    assert last_before(moments, at).tolist() == [NEVER, NEVER, 10, 10, 20]
    assert last_before(moments, at, "right").tolist() == [NEVER, 10, 10, 20, 20]
    assert last_before(np.empty(0, dtype=np.int64), at).tolist() == [NEVER] * 5
