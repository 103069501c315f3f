"""Moments by which an amount of some time has passed, and what of a later time earlier spans may be held to account for."""

from __future__ import annotations

import numpy as np
import pandas as pd

from analyzer.spans.arrays import Int64Array
from analyzer.spans.intervals import EMPTY, IntervalSet


def after_amount(time: IntervalSet, start_ns: Int64Array, amount_ns: Int64Array) -> Int64Array:
    """For each start the moment by which that much of `time` has passed since; far in the future where there is less left."""
    before = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(time.end_ns - time.start_ns)])
    passed = time.overlap_with(np.zeros(len(start_ns), dtype=np.int64), start_ns)
    wanted = passed + amount_ns
    index = np.searchsorted(before, wanted, side="left")
    exists = (index > 0) & (index < len(before))
    place = np.clip(index - 1, 0, max(len(time) - 1, 0))
    if not time:
        return np.full(len(start_ns), np.iinfo(np.int64).max)
    moment = time.start_ns[place] + (wanted - before[place])
    return np.where(exists, moment, np.iinfo(np.int64).max)


def no_more_than(spans: IntervalSet, time: IntervalSet, until_ns: Int64Array) -> IntervalSet:
    """The first part of a time behind each span that is no longer than the span; what one leaves, the next may take as well.

    Args:
        spans: What lasted.
        time: What comes behind them.
        until_ns: For each span the end of what may be its own, not before its end. Spans with one end are a group: only within
            a group is anything handed on.
    """
    if not spans or not time:
        return EMPTY
    begins = spans.end_ns
    ends = np.minimum(until_ns, np.append(spans.start_ns[1:], np.iinfo(np.int64).max))
    there = time.overlap_with(begins, ends)
    lasted = spans.end_ns - spans.start_ns
    # What is there and what lasted, summed up; as far as that falls below where the group began, nothing is left to hand on.
    group = np.cumsum(np.append(False, until_ns[1:] != until_ns[:-1]))
    balance = np.cumsum(lasted - there)
    first = np.append(True, group[1:] != group[:-1])
    balance -= np.append(0, balance)[np.flatnonzero(first)][group]
    lowest = np.minimum(pd.Series(balance).groupby(group).cummin().to_numpy(), 0)
    left = balance - lowest
    handed_on = np.where(first, 0, np.append(0, left[:-1]))
    taken = np.minimum(handed_on + lasted, there)
    some = taken > 0
    return time & IntervalSet(begins[some], np.minimum(ends[some], after_amount(time, begins[some], taken[some])))
