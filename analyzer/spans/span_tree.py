"""Spans of host threads as a tree, with the sums over it that tables of operators need."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import pandas as pd

from analyzer.spans.arrays import BoolArray, FloatArray, Int64Array
from analyzer.spans.nesting import levels, nest
from analyzer.spans.open_spans import OpenSpans


class SpanTree:
    """Spans by their position in the frame they come from.

    Args:
        thread: Thread of each span, shape (n,).
        start_ns: Starts, same shape.
        end_ns: Ends, same shape.
    """

    def __init__(self, thread: Int64Array, start_ns: Int64Array, end_ns: Int64Array) -> None:
        nesting = nest(thread, start_ns, end_ns)
        self.parent, self.depth, self.is_root = nesting.parent, nesting.depth, nesting.is_root
        self.start_ns, self.dur_ns = start_ns, end_ns - start_ns

    @classmethod
    def of(cls, frame: pd.DataFrame) -> SpanTree:
        """The tree of a frame with thread, start_ns and end_ns."""
        return cls(frame["thread"].to_numpy(), frame["start_ns"].to_numpy(), frame["end_ns"].to_numpy())

    @cached_property
    def levels(self) -> list[Int64Array]:
        """Rows by depth, outermost first."""
        return levels(self.depth)

    @cached_property
    def self_ns(self) -> Int64Array:
        """Length of each span outside its children; never below nothing, even where spans cross."""
        nested = ~self.is_root
        children = np.bincount(self.parent[nested], self.dur_ns[nested], len(self.parent))
        own: Int64Array = np.maximum(self.dur_ns - children.astype(np.int64), 0)
        return own

    def accumulated(self, own: FloatArray) -> FloatArray:
        """For each span the sum of `own` over itself and all spans below it."""
        total = own.copy()
        for rows in reversed(self.levels):
            nested = rows[~self.is_root[rows]]
            np.add.at(total, self.parent[nested], total[nested])
        return total

    def inside_equal(self, group: Int64Array) -> BoolArray:
        """Which spans lie, at whatever distance, inside a span of their own group."""
        found = np.zeros(len(self.parent), dtype=bool)
        rows = np.flatnonzero(~self.is_root)
        above = self.parent[rows]
        while len(rows):
            same = group[above] == group[rows]
            found[rows[same]] = True
            climbing = ~same & ~self.is_root[above]
            rows, above = rows[climbing], self.parent[above[climbing]]
        return found


def innermost(spans: pd.DataFrame, thread: Int64Array, at_ns: Int64Array) -> Int64Array:
    """The innermost span that is open at each moment on its thread; -1 where there is none.

    Args:
        spans: Frame with thread, start_ns and end_ns.
        thread: Threads, shape (n,).
        at_ns: Moments, shape (n,).

    Returns:
        Positions in `spans`, shape (n,).
    """
    return OpenSpans(*(spans[name].to_numpy() for name in ("thread", "start_ns", "end_ns"))).at(thread, at_ns)
