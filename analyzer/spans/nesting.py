"""Which span encloses which on one thread, without recursion and without a Python loop over events."""

from __future__ import annotations

import msgspec
import numpy as np
import numpy.typing as npt

from analyzer.spans.arrays import Int64Array, RowArray, narrow, narrow_depths, pieces
from analyzer.spans.grouping import numbered
from traces.ordering import outer_first


class Nesting(msgspec.Struct, frozen=True):
    """The tree of spans, for each span by its row number.

    Args:
        parent: Row of the innermost span that was open when this one started, or the row itself for an outermost span.
            (A row is never its own child, so a root is the row whose parent it is.)
        depth: Number of spans open when this one started; 0 for an outermost span.
    """

    parent: RowArray
    depth: RowArray

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
    begins, ends, _ = _keys(*numbered(thread), start, end)
    # Of a million spans each array is 8 MB: what is not needed any more would be most of what nesting takes.
    del thread, start, end
    order = outer_first(begins, ends)
    begins, ends = begins[order], ends[order]
    depth = _depth(begins, ends)
    around = narrow(order[_enclosing(depth, begins, ends)])
    del begins, ends
    parent, depths = np.empty_like(around), np.empty_like(depth)
    depths[order] = depth
    parent[order] = around
    return Nesting(parent, depths)


def _depth(begins: Int64Array, ends: Int64Array) -> RowArray:
    """How many of sorted spans are open when each begins, shape (n,)."""
    # Starts and ends on earlier lanes are as many.
    ordered = np.sort(ends)
    depth = np.arange(len(begins))
    for here in pieces(len(begins)):
        depth[here] -= np.searchsorted(ordered, begins[here], side="right")
    return narrow_depths(depth)


def _enclosing(depth: RowArray, begins: Int64Array, ends: Int64Array) -> Int64Array:
    """Of sorted spans the place of the one around each, or its own; shape (n,)."""
    count = len(depth)
    # By depth, then by time; asked in the same order, which a binary search answers three times as fast.
    by_level = depth.astype(np.int64)
    by_level *= count
    by_level += np.arange(count)
    by_level.sort()
    places = np.empty(count, dtype=np.int64)
    for here in pieces(count):
        level = by_level[here]
        above = np.maximum(np.searchsorted(by_level, level - count, side="left") - 1, 0)
        asked, around = level % count, by_level[above] % count
        # From one start to the next of a thread the depth grows by one at most: the last one a level up is of the same thread.
        found = (level >= count) & (ends[around] > begins[asked])
        places[asked] = np.where(found, around, asked)
    return places


def own_ns(time_ns: Int64Array, parent: RowArray) -> Int64Array:
    """What each span takes without the spans inside it.

    Args:
        time_ns: What each takes with them, shape (n,).
        parent: Row of the enclosing span, or the row itself for an outermost one, shape (n,).
    """
    inner = parent != np.arange(len(parent))
    return time_ns - np.bincount(parent[inner], weights=time_ns[inner], minlength=len(time_ns)).astype(np.int64)


def outer_first_per_thread(thread: Int64Array, start_ns: Int64Array, end_ns: Int64Array) -> Int64Array:
    """Rows by thread and start, of those that start together the longest first.

    Args:
        thread: Thread of each span, shape (n,).
        start_ns: Starts, shape (n,).
        end_ns: Ends, shape (n,).
    """
    if not len(thread):
        return np.empty(0, dtype=np.int64)
    start_key, end_key, _ = _keys(*numbered(thread), start_ns, end_ns)
    return outer_first(start_key, end_key)


def levels(depth: RowArray) -> list[Int64Array]:
    """Rows by their depth, outermost first: a parent stands in an earlier array than its children."""
    order = np.argsort(depth, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(depth[order])) + 1) if len(order) else []


def _keys(lane: Int64Array, lanes: int, start: Int64Array, end: Int64Array) -> tuple[Int64Array, Int64Array, int]:
    """(lane, start) and (lane, end) as one integer each, and the distance between lanes; times from zero on, or as ranks."""
    first = int(start.min())
    stride = int(end.max()) - first + 1
    if stride < (1 << 62) // lanes:
        begins = lane * stride
        begins -= first
        ends = begins + end
        begins += start
        return begins, ends, stride
    times, ranks = np.unique(np.concatenate([start, end]), return_inverse=True)
    stride = len(times) + 1
    return lane * stride + ranks[: len(start)], lane * stride + ranks[len(start) :], stride
