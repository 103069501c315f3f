"""What spans usually take, whatever a few of them took."""

from __future__ import annotations

import numpy as np
import pytest

from analyzer.spans.usual import usual_ns


def usual(**kinds: list[int]) -> float:
    kind = np.repeat(np.arange(len(kinds)), [len(durations) for durations in kinds.values()])
    return usual_ns(kind, np.array([dur for durations in kinds.values() for dur in durations], dtype=np.int64))


@pytest.mark.parametrize(("long", "expected"), [(1, 5), (2, 5), (8, 403)])
def test_one_in_twenty_that_stood_still_says_nothing_and_more_do(long: int, expected: float) -> None:
    assert usual(add=[5] * (20 - long) + [1_000] * long) == expected


def test_each_kind_has_its_own() -> None:
    assert usual(add=[5] * 30, mm=[500] * 10) == pytest.approx((30 * 5 + 10 * 500) / 40)


def test_a_few_of_a_kind_count_as_they_are_and_none_are_0() -> None:
    assert usual(add=[7]) == 7
    assert usual() == 0
