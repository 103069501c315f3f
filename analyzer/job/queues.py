"""When a collective could begin: earlier than it did where it queues on its stream behind another one that waits.

A library's kernels of one group run one after another. A rank that runs ahead issues the next one while the one before it still
waits for somebody; the rank that is late finds its stream free. Without telling the two apart, what a rank issues comes in another
order on each rank, and a job that is played again keeps the queue when nobody waits any more.
"""

from __future__ import annotations

import numpy as np

from analyzer.facts import Facts
from analyzer.facts.device.launches import LaunchCalls, calls_of
from analyzer.spans.arrays import BoolArray, Int64Array

# A kernel begins so soon behind the one before it on its stream, at most, where it was there already.
_AT_ONCE_NS = 20_000


def ready_ns(facts: Facts, rows: Int64Array, launch: LaunchCalls, messages: BoolArray) -> Int64Array:
    """When each collective was issued and what was launched before it computed; its start where it does not queue, shape (rows,).

    Args:
        facts: The measurements.
        rows: Rows of the kernels of collectives on the device that stands for the trace.
        launch: Their launch calls.
        messages: Which are messages between two ranks: a sender does not wait for its turn, shape (rows,).
    """
    frame = facts.trace.kernels
    start, end = frame["start_ns"].to_numpy()[rows], frame["end_ns"].to_numpy()[rows]
    queues = _queues(frame["stream"].to_numpy()[rows], start, end) & launch.known & ~launch.shared & ~messages
    if not queues.any():
        return start
    computed = _computed_before(facts, launch.start_ns)
    ready: Int64Array = np.where(queues, np.minimum(start, np.maximum(launch.start_ns, computed)), start)
    stream = frame["stream"].to_numpy()[rows]
    for one in np.unique(stream[queues]).tolist():
        # None could begin before the one in front of it could, whatever that waited for.
        mine = np.flatnonzero(stream == one)
        mine = mine[np.argsort(start[mine], kind="stable")]
        ready[mine] = np.maximum.accumulate(ready[mine])
    return ready


def _queues(stream: Int64Array, start: Int64Array, end: Int64Array) -> BoolArray:
    """Which kernels begin as soon as the one before them on their stream is over, shape (rows,)."""
    order = np.lexsort((start, stream))
    behind = np.zeros(len(order), dtype=bool)
    gap = start[order][1:] - end[order][:-1]
    behind[order[1:]] = (np.diff(stream[order]) == 0) & (gap >= 0) & (gap <= _AT_ONCE_NS)
    return behind


def _computed_before(facts: Facts, issued_ns: Int64Array) -> Int64Array:
    """When all that the device computes of what was launched before some instants is over, shape (instants,)."""
    frame = facts.trace.kernels
    device = facts.device.all[0].device
    rows = np.flatnonzero((frame["device"].to_numpy() == device) & ~frame["collective"].to_numpy(dtype=bool))
    launch = calls_of(facts.device.launched, "kernels", rows, len(frame))
    rows, at = rows[launch.known], launch.start_ns[launch.known]
    order = np.argsort(at, kind="stable")
    over = np.append(np.iinfo(np.int64).min, np.maximum.accumulate(frame["end_ns"].to_numpy()[rows[order]]))
    found: Int64Array = over[np.searchsorted(at[order], issued_ns)]
    return found
