"""Device-idle time behind some work of the host that ends sooner where that work goes: what it cost beside a busy device.

Work of the host beside a busy device loses nothing by itself. But it makes the host late, and where the device runs dry before the
host has waited for it, it idles that much longer. Without the work the host is earlier by all of it: by what the device idled
meanwhile, and by what it computed meanwhile, as far as idle time follows. So the one alone is no bound of what the work costs.
"""

from __future__ import annotations

import msgspec
import numpy as np

from analyzer.facts.sync.waits import WHOLE_DEVICE, Waits
from analyzer.spans.arrays import Int64Array
from analyzer.spans.intervals import EMPTY, IntervalSet
from analyzer.spans.labels import matching

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
    beside, gaps = host - idle, idle - host
    if not beside or not gaps:
        return EMPTY
    long = gaps.end_ns - gaps.start_ns
    ended = np.full(len(waiting.at_ns), -2 * (beside.total_ns + gaps.total_ns + int(waiting.idle_ns.sum())))
    at = np.concatenate([waiting.at_ns, waiting.at_ns, beside.end_ns, gaps.start_ns])
    change = np.concatenate([ended, waiting.idle_ns, beside.end_ns - beside.start_ns, -long])
    order = np.argsort(at, kind="stable")
    # Of millions of changes each array counts: what is not needed any more goes, and little is made anew.
    del at, ended
    change, of_gap = change[order], np.flatnonzero(order >= len(order) - len(long))
    del order
    # The gaps are in order among themselves. What stands before a change is what the one before it left.
    turn = int(_left(change, 0)[-1])
    late = np.append(turn, _left(change, turn)[:-1])[of_gap]
    return IntervalSet(gaps.start_ns, gaps.start_ns + np.minimum(late, long))


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
    of_all = matching(calls["name"].astype("category"), WHOLE_DEVICE.search) | (calls["copy_end_ns"].to_numpy() > 0)
    mine = (calls["thread"].to_numpy() == main) & ~host.contains(start) & (busy | (inside & of_all))
    had = np.where(inside, start - since - host.overlap_with(np.where(inside, since, start), start), 0)
    return Waiting(start[mine], had[mine])
