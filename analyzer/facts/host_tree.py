"""Ops, ranges and runtime calls of every host thread as one tree: what runs inside what."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from analyzer.facts.nesting import nest
from traces.trace import Trace

Int64Array = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class HostTree:
    """Spans of the host, nested per thread.

    Args:
        frame: One row per span: name (str categories of its source), source (`annotations`, `ops` or `runtime`), row (position in
            that frame), kind (of a range or a call; empty for ops), thread, start_ns, end_ns, dur_ns.
        parent: Row of the enclosing span, or the row itself for an outermost one.
    """

    frame: pd.DataFrame
    parent: Int64Array

    def named(self, *names: str) -> BoolArray:
        """Rows whose name is one of these."""
        return np.asarray(self.frame["name"].isin(names), dtype=bool)

    def matching(self, pattern: str) -> BoolArray:
        """Ops and ranges whose name matches a regular expression from its beginning; asked once per distinct name."""
        names = self.frame["name"]
        matches = np.asarray(names.cat.categories.str.match(pattern), dtype=bool)
        return matches[names.cat.codes.to_numpy()] if len(matches) else np.zeros(len(names), dtype=bool)

    def of_source(self, source: str) -> BoolArray:
        """Rows that come from one frame of the trace."""
        return (self.frame["source"] == source).to_numpy(dtype=bool)

    def outermost(self, mask: BoolArray) -> Int64Array:
        """For each row the outermost enclosing span (itself included) in the mask; -1 where there is none.

        Follows parents level by level: as many rounds as the tree is deep.
        """
        rows = np.arange(len(self.parent))
        best = np.where(mask, rows, -1)
        current = self.parent.copy()
        moving = current != rows
        while moving.any():
            best = np.where(moving & mask[current], current, best)
            above = self.parent[current]
            moving &= above != current
            current = above
        return best

    def under(self, mask: BoolArray) -> BoolArray:
        """Rows inside (or equal to) a span in the mask."""
        return self.outermost(mask) >= 0


def host_tree(trace: Trace) -> HostTree:
    """Builds the tree. Of spans with equal extent a range encloses an op, and an op encloses a call."""
    parts = []
    for source in ("annotations", "ops", "runtime"):
        frame: pd.DataFrame = getattr(trace, source)
        columns = frame[["thread", "start_ns", "end_ns", "dur_ns"]].reset_index(drop=True)
        texts = {name: frame[name].astype("str").to_numpy() if name in frame else "" for name in ("name", "kind")}
        parts.append(columns.assign(**texts, source=source, row=range(len(frame))))
    frame = pd.concat(parts, ignore_index=True)
    frame["name"] = frame["name"].astype("category")
    nesting = nest(frame["thread"].to_numpy(), frame["start_ns"].to_numpy(), frame["end_ns"].to_numpy())
    return HostTree(frame, nesting.parent)
