"""From when on a thread waits for its messages: once what it did beside them is done."""

from __future__ import annotations

import numpy as np
import pytest

from analyzer.facts.host.among_ranks import begins_to_wait


@pytest.mark.parametrize(
    ("worked_until", "since"),
    [
        ([], [10, 20]),
        ([5], [10, 20]),  # before either was asked for
        ([15], [15, 20]),
        ([15, 28], [28, 28]),
        ([30, 40], [30, 40]),  # the end of its work is the end of its message: no wait at all
        ([31], [10, 31]),  # what goes on behind the first message's end was no work that it was waited for behind
    ],
)
def test_a_wait_begins_where_the_last_work_before_its_end_ends(worked_until: list[int], since: list[int]) -> None:
    start, end, works = (np.array(one, dtype=np.int64) for one in ([10, 20], [30, 40], worked_until))
    assert begins_to_wait(start, end, works).tolist() == since
