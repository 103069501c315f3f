"""Which op encloses which, and which op launched what: answers per op row, without a Python loop over events."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pandas as pd

from analyzer.facts.labels import matching
from analyzer.facts.nesting import nest

Int64Array = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]

NONE = -1


class OpTree:
    """The ops of a trace as a forest, one tree per outermost op.

    Args:
        ops: `trace.ops`; its rows are the nodes, by position.
    """

    def __init__(self, ops: pd.DataFrame) -> None:
        self.ops = ops
        nesting = nest(ops["thread"].to_numpy(), ops["start_ns"].to_numpy(), ops["end_ns"].to_numpy())
        self.parent: Int64Array = nesting.parent
        self.depth: Int64Array = nesting.depth

    def named(self, matches: Callable[[str], bool]) -> BoolArray:
        """The ops whose name matches; the question is asked once per distinct name. Shape (ops,)."""
        return matching(self.ops["name"], matches)

    def nearest(self, wanted: BoolArray) -> Int64Array:
        """For each op the row of itself or its nearest ancestor that is wanted; -1 where there is none. Shape (ops,).

        Args:
            wanted: Which ops count, shape (ops,).
        """
        count = len(self.parent)
        result = np.where(wanted, np.arange(count), NONE)
        # Level by level, so that a parent's answer is known before its children ask.
        order = np.argsort(self.depth, kind="stable")
        for rows in np.split(order, np.flatnonzero(np.diff(self.depth[order])) + 1) if count else []:
            open_rows = rows[(result[rows] == NONE) & (self.parent[rows] != rows)]
            result[open_rows] = result[self.parent[open_rows]]
        return result

    def outermost(self, wanted: BoolArray) -> BoolArray:
        """The wanted ops that are not inside another wanted op. Shape (ops,)."""
        nearest = self.nearest(wanted)
        alone: BoolArray = (self.parent == np.arange(len(self.parent))) | (nearest[self.parent] == NONE)
        return wanted & alone

    def enclosing(self, thread: Int64Array, at_ns: Int64Array) -> Int64Array:
        """The innermost op that is open at a moment on a thread; -1 where there is none.

        Args:
            thread: Threads, shape (n,).
            at_ns: Moments, shape (n,).

        Returns:
            Rows of `ops`, shape (n,).
        """
        count, asked = len(self.ops), len(at_ns)
        if not count or not asked:
            return np.full(asked, NONE, dtype=np.int64)
        # A moment is a span of no length: nested with the ops, its parent is the answer. Kernels of one graph share a moment.
        order = np.lexsort((at_ns, thread))
        new = np.ones(asked, dtype=np.bool_)
        new[1:] = (np.diff(at_ns[order]) != 0) | (np.diff(thread[order]) != 0)
        moments = order[new]
        nesting = nest(
            np.concatenate([self.ops["thread"].to_numpy(), thread[moments]]),
            np.concatenate([self.ops["start_ns"].to_numpy(), at_ns[moments]]),
            np.concatenate([self.ops["end_ns"].to_numpy(), at_ns[moments]]),
        )
        parent = nesting.parent[count:]
        result = np.empty(asked, dtype=np.int64)
        result[order] = np.where(parent < count, parent, NONE)[np.cumsum(new) - 1]
        return result


def pick(mask: BoolArray, rows: Int64Array) -> BoolArray:
    """The mask at the given rows; False where there is no row (-1). Shape of `rows`."""
    padded: BoolArray = np.append(mask, False)
    result: BoolArray = padded[rows]
    return result


def pick_row(values: Int64Array, rows: Int64Array) -> Int64Array:
    """The values, themselves rows, at the given rows; -1 where there is no row. Shape of `rows`."""
    padded: Int64Array = np.append(values, NONE)
    result: Int64Array = padded[rows]
    return result
