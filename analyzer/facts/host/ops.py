"""Which op encloses which, and which op launched what: answers per op row, without a Python loop over events."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np
import pandas as pd

from analyzer.spans.arrays import BoolArray, Int64Array, RowArray
from analyzer.spans.labels import matching
from analyzer.spans.nesting import inner_levels, nest, under
from analyzer.spans.open_spans import NONE, OpenSpans


class OpTree:
    """The ops of a trace as a forest, one tree per outermost op.

    Args:
        ops: `trace.ops`; its rows are the nodes, by position.
    """

    def __init__(self, ops: pd.DataFrame) -> None:
        self.ops = ops
        nesting = nest(ops["thread"].to_numpy(), ops["start_ns"].to_numpy(), ops["end_ns"].to_numpy())
        self.parent: RowArray = nesting.parent
        self.depth: RowArray = nesting.depth

    def named(self, matches: Callable[[str], bool]) -> BoolArray:
        """The ops whose name matches; the question is asked once per distinct name. Shape (ops,)."""
        return matching(self.ops["name"], matches)

    def nearest(self, wanted: BoolArray) -> Int64Array:
        """For each op the row of itself or its nearest ancestor that is wanted; -1 where there is none. Shape (ops,).

        Args:
            wanted: Which ops count, shape (ops,).
        """
        result = np.where(wanted, np.arange(len(self.parent)), NONE)
        if not wanted.any():
            return result
        # Level by level, so that a parent's answer is known before its children ask.
        for rows, above in self._levels:
            found = result.take(rows)
            result[rows] = np.where(found == NONE, result.take(above), found)
        return result

    def under(self, wanted: BoolArray) -> BoolArray:
        """Whether each op is wanted, or inside one that is. Shape (ops,)."""
        return under(wanted, self._levels)

    def outermost(self, wanted: BoolArray) -> BoolArray:
        """The wanted ops that are not inside another wanted op. Shape (ops,)."""
        alone: BoolArray = (self.parent == np.arange(len(self.parent))) | ~self.under(wanted).take(self.parent)
        return wanted & alone

    def enclosing(self, thread: Int64Array, at_ns: Int64Array) -> Int64Array:
        """The innermost op that is open at a moment on a thread; -1 where there is none.

        Args:
            thread: Threads, shape (n,).
            at_ns: Moments, shape (n,).

        Returns:
            Rows of `ops`, shape (n,).
        """
        return self._open.at(thread, at_ns)

    def before(self, rows: Int64Array) -> Int64Array:
        """For each of some ops the one that starts last before it on its thread; -1 where there is none, or no op.

        What starts together with an op is not before it: torch 1.8 wrote every op twice.

        Args:
            rows: Rows of `ops`, -1 for none, shape (n,).
        """
        known = rows != NONE
        mine, found = rows[known], np.full(len(rows), NONE, dtype=np.int64)
        thread, start = (self.ops[name].to_numpy()[mine] for name in ("thread", "start_ns"))
        found[known] = self._open.before(thread, start)
        return found

    @cached_property
    def _levels(self) -> list[tuple[RowArray, RowArray]]:
        """Rows that are inside another one, by depth, with the row around each."""
        return inner_levels(self.parent, self.depth)

    @cached_property
    def _open(self) -> OpenSpans:
        thread, start, end = (self.ops[name].to_numpy() for name in ("thread", "start_ns", "end_ns"))
        return OpenSpans(thread, start, end, self.parent)


def pick(mask: BoolArray, rows: Int64Array) -> BoolArray:
    """The mask at the given rows; False where there is no row (-1). Shape of `rows`."""
    padded: BoolArray = np.append(mask, False)
    result: BoolArray = padded.take(rows)
    return result


def pick_row(values: Int64Array, rows: Int64Array) -> Int64Array:
    """The values, themselves rows, at the given rows; -1 where there is no row. Shape of `rows`."""
    padded: Int64Array = np.append(values, NONE)
    result: Int64Array = padded.take(rows)
    return result
