"""Ops that no other op calls, with those beside them that belong to them: what is made for them, and hands on what they give."""

from __future__ import annotations

import numpy as np

from analyzer.facts.host.ops import OpTree
from analyzer.spans.arrays import Int64Array
from analyzer.spans.intervals import EMPTY, IntervalSet
from analyzer.spans.labels import matching
from analyzer.spans.open_spans import NONE
from traces.patterns import Pattern


def beside(tree: OpTree, rows: Int64Array, belongs: Pattern[str], *, python: bool = False) -> IntervalSet:
    """The host time of some ops and of the ops around them on their thread, as far as these belong to them.

    Args:
        tree: The ops.
        rows: The ops; those that another op calls are left out, and so is -1.
        belongs: Names of what belongs to them.
        python: Whether the Python on either side counts too, as far as it is no longer than all these ops together: more is work of
            its own.
    """
    roots = np.flatnonzero(tree.depth == 0)
    if not len(roots) or not len(rows):
        return EMPTY
    thread, start, end = (tree.ops[name].to_numpy()[roots] for name in ("thread", "start_ns", "end_ns"))
    order = np.lexsort((start, thread))
    roots, thread, start, end = roots[order], thread[order], start[order], end[order]
    theirs = matching(tree.ops["name"].iloc[roots], belongs.match)
    place = np.flatnonzero(np.isin(roots, rows[rows != NONE]))
    row = np.arange(len(roots))
    # The next op of each side that does not belong to them: the last one before, the first one behind.
    before = np.append(np.maximum.accumulate(np.where(theirs, NONE, row)), NONE)[place - 1]
    behind = np.append(np.minimum.accumulate(np.where(theirs, len(roots), row)[::-1])[::-1], len(roots))[place + 1]
    first, last = before + 1, behind - 1
    first = np.where(thread[first] == thread[place], first, place)
    last = np.where(thread[last] == thread[place], last, place)
    if not python:
        return IntervalSet(start[first], end[last])
    length = end[last] - start[first]
    left = (first > 0) & (thread[first - 1] == thread[first])
    next_one = np.minimum(last + 1, len(roots) - 1)
    right = (next_one > last) & (thread[next_one] == thread[last])
    since = np.maximum(np.where(left, end[first - 1], start[first]), start[first] - length)
    until = np.minimum(np.where(right, start[next_one], end[last]), end[last] + length)
    return IntervalSet(since, until)
