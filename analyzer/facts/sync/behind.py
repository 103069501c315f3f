"""Device-idle time behind some work of the host that ends sooner where that work goes: what it cost beside a busy device.

Work of the host beside a busy device loses nothing by itself. But it makes the host late, and where the device runs dry before the
host has waited for it, it idles that much longer. Without the work the host is earlier by all of it: by what the device idled
meanwhile, and by what it computed meanwhile, as far as idle time follows. So the one alone is no bound of what the work costs.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import msgspec
import numpy as np

from analyzer.facts.sync.waits import Waits
from analyzer.spans.arrays import Int64Array, cuts
from analyzer.spans.intervals import EMPTY, IntervalSet

# A call that returns at once takes a few microseconds; one that lasts longer beside a busy device waits for it.
_WAITED_NS = 20_000


class Waiting(msgspec.Struct, frozen=True):
    """Calls in which the host waits for the device, for another reason than the work that is asked about.

    Args:
        at_ns: When each begins, shape (calls,).
        idle_ns: For how long the device had idled by then, and not in that work: as much earlier the host would be behind the call,
            and no more.
    """

    at_ns: Int64Array
    idle_ns: Int64Array


def behind(host: IntervalSet, idle: IntervalSet, waiting: Waiting) -> IntervalSet:
    """Of the idle time behind some work of the host as much as it took beside a busy device.

    Steps are taken for a circle: what the last one leaves is left to the first, as in a loop that goes on.

    Args:
        host: When the host does the work.
        idle: When the device does nothing, and waits for the host to launch something.
        waiting: Calls that wait for the device.
    """
    stretches = list(_stretches(host, idle))
    found, late, beside = [EMPTY for _ in stretches], [0], 0
    for place, stretch in enumerate(stretches):
        found[place], left, more = _in_stretch(host, idle, waiting, stretch, late[-1])
        late.append(left)
        beside += more
    if not beside:
        return EMPTY
    left = late[-1]
    for place, stretch in enumerate(stretches):
        # From here on it is as it was when the first step was not late.
        if left == late[place]:
            break
        found[place], left, _ = _in_stretch(host, idle, waiting, stretch, left)
    return IntervalSet.union(found)


def _stretches(host: IntervalSet, idle: IntervalSet) -> Iterator[tuple[int, int]]:
    """Begin and end of stretches that each begin with work of the host, so that none cuts work or a gap behind it in two.

    Of millions of intervals all that is worked out for each would be several times the sets.
    """
    if host and idle:
        far = np.iinfo(np.int64)
        yield from pairwise([far.min, *cuts(host.start_ns).tolist(), far.max])


def _in_stretch(
    host: IntervalSet, idle: IntervalSet, waiting: Waiting, stretch: tuple[int, int], late: int
) -> tuple[IntervalSet, int, int]:
    """What `behind` finds in a stretch, how late the host is behind it, and how much work there is beside a busy device.

    Args:
        host: As for `behind`.
        idle: Likewise.
        waiting: Likewise.
        stretch: Begin and end.
        late: How late the host is in front of it.
    """
    host, idle = host.clip(*stretch), idle.clip(*stretch)
    beside, gaps = host - idle, idle - host
    here = (waiting.at_ns >= stretch[0]) & (waiting.at_ns < stretch[1])
    calls, had = waiting.at_ns[here], waiting.idle_ns[here]
    long = gaps.end_ns - gaps.start_ns
    ended = np.full(len(calls), -(late + beside.total_ns + int(had.sum())))
    at = np.concatenate([calls, calls, beside.end_ns, gaps.start_ns])
    change = np.concatenate([ended, had, beside.end_ns - beside.start_ns, -long])
    order = np.argsort(at, kind="stable")
    of_gap = np.flatnonzero(order >= len(order) - len(long))
    # The gaps are in order among themselves. What stands before a change is what the one before it left.
    left = np.append(late, _left(change[order], late))
    made = IntervalSet(gaps.start_ns, gaps.start_ns + np.minimum(left[of_gap], long))
    return made, int(left[-1]), beside.total_ns


def _left(change: Int64Array, first: int) -> Int64Array:
    """How late the host is after each change: a running sum from `first` that never falls below 0."""
    sums = np.cumsum(change)
    sums += first
    lowest = np.minimum.accumulate(sums)
    sums -= np.minimum(lowest, 0, out=lowest)
    return sums


def waiting_beside(waits: Waits, host: IntervalSet, main: int | None) -> Waiting:
    """The calls of the main thread outside some work that certainly wait for what the device was given before.

    Those that last while it works; and where it had nothing to do by then, those that wait for all of it or for a copy behind it.

    Args:
        waits: All waiting calls.
        host: The work.
        main: The thread of the loop.
    """
    calls, idle = waits.calls, waits.idle
    start, end = calls["start_ns"].to_numpy(), calls["end_ns"].to_numpy()
    busy = (end - start - idle.overlap_with(start, end)) >= _WAITED_NS
    since = idle.start_ns[np.maximum(np.searchsorted(idle.start_ns, start, side="right") - 1, 0)] if idle else start
    inside = idle.contains(start)
    of_all = calls["of_all"].to_numpy() | (calls["copy_end_ns"].to_numpy() > 0)
    mine = (calls["thread"].to_numpy() == main) & ~host.contains(start) & (busy | (inside & of_all))
    had = np.where(inside, start - since - host.overlap_with(np.where(inside, since, start), start), 0)
    return Waiting(start[mine], had[mine])
