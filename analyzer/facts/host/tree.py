"""Ops, ranges and runtime calls of every host thread as one tree: what runs inside what."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cached_property

import msgspec
import numpy as np
import pandas as pd

from analyzer.spans.arrays import BoolArray, Int64Array, RowArray, narrow
from analyzer.spans.labels import constant, is_any, joined, matching
from analyzer.spans.nesting import inner_levels, nest, under
from traces.fixed_frame import FixedFrame
from traces.reader.frames.beside import together
from traces.trace import Trace


class HostTree(msgspec.Struct, frozen=True, dict=True):
    """Spans of the host, nested per thread.

    Args:
        frame: One row per span: name and kind (categories; of a range or a call, NA for ops), thread, start_ns, end_ns. First
            the ranges, then the ops, then the calls.
        parent: Row of the enclosing span, or the row itself for an outermost one.
        depth: Number of spans around each.
        sources: Which rows come from `annotations`, `ops` and `runtime`.
    """

    frame: pd.DataFrame
    parent: RowArray
    depth: RowArray
    sources: Mapping[str, slice]

    @property
    def dur_ns(self) -> Int64Array:
        """How long each span takes; asked seldom, and not kept for millions."""
        found: Int64Array = self.frame["end_ns"].to_numpy() - self.frame["start_ns"].to_numpy()
        return found

    def ops(self, rows: Int64Array) -> Int64Array:
        """Rows of `trace.ops` of rows of the tree, all of them ops; shape of `rows`."""
        first: int = self.sources["ops"].start
        return rows - first

    def named(self, *names: str) -> BoolArray:
        """Rows whose name is one of these."""
        return is_any(self.frame["name"], *names)

    def matching(self, pattern: str) -> BoolArray:
        """Ops and ranges whose name matches a regular expression from its beginning; asked once per distinct name."""
        return matching(self.frame["name"], re.compile(pattern).match)

    def of_source(self, source: str) -> BoolArray:
        """Rows that come from one frame of the trace."""
        mask = np.zeros(len(self.frame), dtype=bool)
        mask[self.sources[source]] = True
        return mask

    @cached_property
    def _levels(self) -> list[tuple[RowArray, RowArray]]:
        """Rows that are inside another one, by depth, with the row around each."""
        return inner_levels(self.parent, self.depth)

    def outermost(self, mask: BoolArray, rows: Int64Array | None = None) -> Int64Array:
        """For each row the outermost enclosing span (itself included) in the mask; -1 where there is none.

        Args:
            mask: Spans to look for, shape (spans,).
            rows: Rows to ask about; all of them by default. For a few, climbing is shorter than going through the tree.

        Returns:
            Rows of the tree, shape of `rows`.
        """
        if rows is None:
            found = np.where(mask, np.arange(len(mask)), -1)
            if mask.any():
                for level, parents in self._levels:
                    above = found.take(parents)
                    found[level] = np.where(above >= 0, above, found.take(level))
            return found
        current = rows
        best = np.where(mask[current], current, -1)
        above = self.parent[current]
        moving = above != current
        while moving.any():
            current = above
            best = np.where(moving & mask[current], current, best)
            above = self.parent[current]
            moving &= above != current
        return best

    def under(self, mask: BoolArray, rows: Int64Array | None = None) -> BoolArray:
        """Whether rows (all by default) are inside, or equal to, a span in the mask; shape of `rows`."""
        return under(mask, self._levels) if rows is None else self.outermost(mask, rows) >= 0


def host_tree(trace: Trace) -> HostTree:
    """Builds the tree. Of spans with equal extent a range encloses an op, and an op encloses a call.

    Calls of modules are left out: a program whose modules were marked has the same tree as one without marks.
    """
    ranges = trace.annotations
    kept = np.flatnonzero(~is_any(ranges["kind"], "module", "again"))
    ranges = ranges if len(kept) == len(ranges) else ranges.iloc[kept]
    frames: dict[str, pd.DataFrame] = {"annotations": ranges, "ops": trace.ops, "runtime": trace.runtime}
    thread, start, end = (
        together([part[name].to_numpy() for part in frames.values()]) for name in ("thread", "start_ns", "end_ns")
    )
    nesting = nest(thread, start, end)
    frame = FixedFrame(
        {
            "thread": narrow(thread),
            "start_ns": start,
            "end_ns": end,
            "name": joined([part["name"] for part in frames.values()]),
            "kind": joined([ranges["kind"], constant(None, len(trace.ops)), trace.runtime["kind"]]),
        },
        copy=False,
    )
    ends = np.cumsum([len(part) for part in frames.values()]).tolist()
    sources = {name: slice(begin, end) for name, begin, end in zip(frames, [0, *ends], ends, strict=False)}
    return HostTree(frame, nesting.parent, nesting.depth, sources)
