"""Which span encloses which on one thread, without recursion and without a Python loop over events."""

from __future__ import annotations

import msgspec
import numpy as np
import numpy.typing as npt

from analyzer.spans.arrays import BoolArray, Int64Array, RowArray, narrow, narrow_depths, pieces
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


def at_an_end(start: Int64Array, end: Int64Array, group: Int64Array) -> BoolArray:
    """Ops of no length that begin where the one before ends, shape (ops,).

    Torch before 2.4 writes whole microseconds: the last op inside another one begins, rounded, where that ends, and would stand
    behind it in some turns of a loop and inside it in others.

    Args:
        start: Starts of ops, in order within their group, shape (ops,).
        end: Their ends, likewise.
        group: Which of them stand in one row, likewise.
    """
    found = np.zeros(len(start), dtype=bool)
    found[1:] = (group[1:] == group[:-1]) & (end[1:] == start[1:]) & (start[1:] == end[:-1]) & (end[:-1] > start[:-1])
    return found


def _depth(begins: Int64Array, ends: Int64Array) -> RowArray:
    """How many of sorted spans are open when each begins, shape (n,)."""
    # Starts and ends on earlier lanes are as many.
    ordered = np.sort(ends)
    depth = np.arange(len(begins))
    for here in pieces(len(begins)):
        depth[here] -= _up_to(ordered, begins[here])
    return narrow_depths(depth)


def _up_to(ordered: Int64Array, asked: Int64Array) -> Int64Array:
    """How many of sorted numbers are no larger than each of those asked, sorted as well; merged in a third of a search's time."""
    first, last = np.searchsorted(ordered, asked[[0, -1]], side="right").tolist()
    order = np.argsort(np.concatenate([ordered[first:last], asked]), kind="stable")
    return np.flatnonzero(order >= last - first) - np.arange(-first, len(asked) - first)


def _enclosing(depth: RowArray, begins: Int64Array, ends: Int64Array) -> Int64Array:
    """Of sorted spans the place of the one around each, or its own; shape (n,)."""
    # From one start to the next the depth grows by one at most. Where it does, the span before is the last one a level up, and
    # stays that for all of its own level until the next such place.
    by_level = np.argsort(depth, kind="stable")
    places = np.arange(len(depth))
    places *= np.append(False, depth[1:] > depth[:-1])[by_level]
    np.maximum.accumulate(places, out=places)
    around = np.empty_like(by_level)
    around[by_level] = by_level[places] - 1
    del by_level, places
    return np.where((depth > 0) & (ends[around] > begins), around, np.arange(len(depth)))


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


def inner_levels(parent: RowArray, depth: RowArray) -> list[tuple[RowArray, RowArray]]:
    """Rows that are inside another one, by depth, with the row around each: a parent's answer is known before its children ask."""
    inner = np.flatnonzero(parent != np.arange(len(parent)))
    by_depth = (narrow(inner[rows]) for rows in levels(depth[inner]))
    return [(rows, parent.take(rows)) for rows in by_depth]


def under(mask: BoolArray, inner: list[tuple[RowArray, RowArray]]) -> BoolArray:
    """Whether each row is in the mask, or inside one that is; shape (rows,).

    Args:
        mask: Shape (rows,).
        inner: From `inner_levels`.
    """
    found = mask.copy()
    if mask.any():
        for rows, above in inner:
            found[rows[found.take(above)]] = True
    return found


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
