"""At most what comes true where waits for the device go: the device's idle time that the host would then spend beside it."""

from __future__ import annotations

import numpy as np

from analyzer.facts.sync.waits import Waits
from analyzer.spans.amounts import after_amount
from analyzer.spans.arrays import BoolArray, Int64Array
from analyzer.spans.grouping import distinct, rows_by
from analyzer.spans.intervals import EMPTY, IntervalSet


def removable(waits: Waits, reasons: tuple[str, ...], copied: IntervalSet = EMPTY) -> IntervalSet:
    """Device-idle time that may end with calls of some reasons: what the host does in it, it would do earlier, beside the device.

    What they own, and of the idle time from each call on as much as it waited beyond that: the host would have been that much
    earlier, not more. What is counted as the copies' own time hides nothing: it is gone with them. Not past the thread's next call
    that waits for another reason: behind that the device idles all the same. Nor past work of another thread that goes its own way:
    which of a server's workers gives the device its next work, and when, no wait of this one tells. A first step's wait for work of
    a step that is not used counts as far as the used ones wait for their own.

    Args:
        waits: All waiting calls.
        reasons: Of the calls that go.
        copied: What the calls' own copies take alone, where that is counted besides.
    """
    return removable_of(waits, waits.asked_by(reasons), copied)


def removable_of(waits: Waits, mine: BoolArray, copied: IntervalSet = EMPTY) -> IntervalSet:
    """The same of some of the calls; see `removable`.

    Args:
        waits: All waiting calls.
        mine: Which of them go, shape (calls,).
        copied: What the calls' own copies take alone, where that is counted besides.
    """
    thread = waits.calls["thread"].to_numpy()
    found = owned = waits.sync & IntervalSet(waits.calls["start_ns"].to_numpy()[mine], waits.territory_end_ns[mine])
    lasted = _of_used_steps(waits, mine)
    for rows in rows_by(thread[mine]).values():
        found |= _earlier(waits, np.flatnonzero(thread == thread[mine][rows[0]]), mine, lasted, owned, copied)
    return found


def _of_used_steps(waits: Waits, mine: BoolArray) -> Int64Array:
    """For how long each call waits for the device in the used steps, shape (calls,).

    The host goes through a step before the device does: its calls may wait for work of the step before. Where that is a used one,
    so is the wait; in front of the first one it counts up to what another step waits at most, as in a loop that goes on.
    """
    start, dur = (waits.calls[name].to_numpy() for name in ("start_ns", "dur_ns"))
    inside = waits.window.overlap_with(start, start + dur)
    _, step = np.unique(waits.calls["step"].to_numpy(), return_inverse=True)
    waited, before = (np.bincount(step, weights=part * mine) for part in (dur, dur - inside))
    most = waited[before == 0].max(initial=0)
    counted = np.clip(most - (waited - before), 0, before) / np.maximum(before, 1)
    lasted: Int64Array = inside + ((dur - inside) * counted[step]).astype(np.int64)
    return lasted


def _earlier(
    waits: Waits, rows: Int64Array, mine: BoolArray, lasted: Int64Array, owned: IntervalSet, copied: IntervalSet
) -> IntervalSet:
    """Idle time from the calls of one thread on that they do not own, as long as they waited and until it is used up."""
    every, begun = waits.calls["start_ns"].to_numpy(), waits.apart.of_others(int(waits.calls["thread"].iloc[rows[0]]))
    # What ends with work of others they end; behind it the thread has nothing left, as behind a call for another reason.
    theirs = np.isin(waits.idle.end_ns, begun)
    rest = waits.idle - owned - IntervalSet(waits.idle.start_ns[theirs], waits.idle.end_ns[theirs])
    cuts = _first_behind(every[rows], begun)
    order = np.argsort(np.append(every[rows], cuts), kind="stable")
    start = np.append(every[rows], cuts)[order]
    asked = np.append(mine[rows], np.zeros(len(cuts), dtype=bool))[order]
    end = np.append(start[1:], np.iinfo(np.int64).max // 2)
    dur, lasted = (
        np.append(of[rows], np.zeros(len(cuts), dtype=np.int64))[order]
        for of in (waits.calls["dur_ns"].to_numpy(), lasted)
    )
    inside = np.maximum(lasted - copied.overlap_with(start, start + dur), 0)
    waited = np.where(asked, inside - owned.overlap_with(start, end), 0)
    # A call for another reason uses up all that was left.
    change = np.where(asked, waited - rest.overlap_with(start, end), -(np.abs(waited).sum() + rest.total_ns))
    sums = np.cumsum(change)
    left = sums - np.minimum(np.minimum.accumulate(sums), 0)
    taken = np.where(asked, np.append(0, left[:-1]) + waited - left, 0)
    some = taken > 0
    return rest & IntervalSet(start[some], np.minimum(end[some], after_amount(rest, start[some], taken[some])))


def _first_behind(calls: Int64Array, begun: Int64Array) -> Int64Array:
    """The first of some moments behind each call, each once."""
    place = np.searchsorted(begun, calls)
    return distinct(begun[place[place < len(begun)]])
