"""Which span encloses which on one thread, without recursion and without a Python loop over events."""

from __future__ import annotations

import msgspec
import numpy as np
import numpy.typing as npt

Int64Array = npt.NDArray[np.int64]


class Nesting(msgspec.Struct, frozen=True):
    """The tree of spans, for each span by its row number.

    Args:
        parent: Row of the innermost span that was open when this one started, or the row itself for an outermost span.
            (A row is never its own child, so a root is the row whose parent it is.)
        depth: Number of spans open when this one started; 0 for an outermost span.
    """

    parent: Int64Array
    depth: Int64Array

    @property
    def is_root(self) -> npt.NDArray[np.bool_]:
        """Rows without an enclosing span."""
        own: npt.NDArray[np.bool_] = self.parent == np.arange(len(self.parent))
        return own


def nest(thread: npt.ArrayLike, start_ns: npt.ArrayLike, end_ns: npt.ArrayLike) -> Nesting:
    """Nests spans per thread.

    A span's depth is the number of earlier starts less the number of earlier ends on its thread; its parent the last span one
    level up. Spans that cross (profilers do write them) get the innermost span still open or none; nothing breaks.

    Args:
        thread: Thread of each span, shape (n,).
        start_ns: Starts, shape (n,).
        end_ns: Ends, shape (n,).
    """
    thread = np.asarray(thread, dtype=np.int64)
    start = np.asarray(start_ns, dtype=np.int64)
    # An empty span counts as one nanosecond long, or it would end before it starts.
    end = np.maximum(np.asarray(end_ns, dtype=np.int64), start + 1)
    count = len(start)
    if count == 0:
        return Nesting(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64))
    threads, lane = np.unique(thread, return_inverse=True)
    start, end, stride = _compact(start, end, len(threads))
    start_key = lane * stride + start
    end_key = lane * stride + end
    order = np.lexsort((-end_key, start_key))
    sorted_start = start_key[order]
    lane_first = np.searchsorted(sorted_start, np.arange(len(threads)) * stride)
    position = np.arange(count)
    ended = np.searchsorted(np.sort(end_key), sorted_start, side="right")
    # Ends on earlier lanes are all ends of spans on earlier lanes.
    depth = (position - lane_first[lane[order]]) - (ended - lane_first[lane[order]])
    level = depth * count + position
    by_level = np.sort(level)
    above = np.searchsorted(by_level, (depth - 1) * count + position, side="left") - 1
    candidate = by_level[np.maximum(above, 0)]
    found = (above >= 0) & (depth > 0) & (candidate // count == depth - 1)
    parent_position = candidate % count
    same_lane = lane[order][parent_position] == lane[order]
    still_open = end_key[order][parent_position] > sorted_start
    found &= same_lane & still_open
    parent_sorted = np.where(found, order[parent_position], order)
    parent = np.empty(count, dtype=np.int64)
    parent[order] = parent_sorted
    depths = np.empty(count, dtype=np.int64)
    depths[order] = depth
    return Nesting(parent, depths)


def levels(depth: Int64Array) -> list[Int64Array]:
    """Rows by their depth, outermost first: a parent stands in an earlier array than its children."""
    order = np.argsort(depth, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(depth[order])) + 1) if len(order) else []


def _compact(start: Int64Array, end: Int64Array, threads: int) -> tuple[Int64Array, Int64Array, int]:
    """Times as numbers below a stride, so that (thread, time) fits one integer: from zero on, or as ranks if that is too large."""
    first = int(start.min())
    stride = int(end.max()) - first + 1
    if stride < (1 << 62) // threads:
        return start - first, end - first, stride
    times, ranks = np.unique(np.concatenate([start, end]), return_inverse=True)
    return ranks[: len(start)], ranks[len(start) :], len(times) + 1
