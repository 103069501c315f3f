"""Time of ops without a formula: how much of it is left out where operators are set beside their roofline, and whose it is."""

from __future__ import annotations

import numpy as np

from analyzer.facts.host.ops import OpTree
from analyzer.spans.arrays import BoolArray, Int64Array
from analyzer.spans.grouping import sums_by
from analyzer.spans.labels import codes_of, distinct_texts, is_any
from analyzer.spans.open_spans import NONE

# They hand a number to the host, and compute nothing.
_READS = ("aten::_local_scalar_dense", "aten::item", "aten::is_nonzero")


def of_kernels(tree: OpTree, launching: Int64Array, durations: Int64Array) -> tuple[tuple[str, int], ...]:
    """Names of the innermost ops that launched these kernels, with the kernels' time, the longest first.

    Args:
        tree: Ops.
        launching: The innermost op of each kernel; -1 where none is known. Shape (kernels,).
        durations: Of the kernels, shape (kernels,).
    """
    known = launching != NONE
    return _by_name(tree, launching[known], durations[known])


def of_calls(tree: OpTree, inside: BoolArray, counted: BoolArray) -> tuple[tuple[str, int], ...]:
    """The same without a device: the time of each op outside those that it calls.

    Args:
        tree: Ops.
        inside: Ops of the used steps, shape (ops,).
        counted: Ops with a formula; what they call belongs to them. Shape (ops,).
    """
    duration = tree.ops["dur_ns"].to_numpy(dtype=np.int64)
    alone = duration.copy()
    rows = np.arange(len(duration))
    called = np.flatnonzero(tree.parent != rows)
    np.subtract.at(alone, tree.parent[called], duration[called])
    mine = np.flatnonzero(inside & (tree.nearest(counted) == NONE) & (alone > 0))
    return _by_name(tree, mine, alone[mine])


def _by_name(tree: OpTree, rows: Int64Array, time: Int64Array) -> tuple[tuple[str, int], ...]:
    names = tree.ops["name"]
    vocabulary = distinct_texts(names)
    computing = ~is_any(names, *_READS)[rows]
    rows, time = rows[computing], time[computing]
    calls, spent = sums_by(codes_of(names)[rows], time, len(vocabulary))
    found = [(vocabulary[code], int(spent[code])) for code in np.flatnonzero(calls).tolist()]
    return tuple(sorted(found, key=lambda one: (-one[1], one[0])))
