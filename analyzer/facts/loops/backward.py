"""The backward pass that belongs to a loop: the nodes that its ops left, and what the engine does from one of them to the next.

Between two nodes the engine takes the next one from its queue, adds up gradients that arrive from several places and frees what the
node held. It records none of that, and a loop over samples leaves a node for every op: on the CPU a third of its backward pass was
such time (a focal loss over 128 samples, torch 2.15), which a bound must hold as well.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from analyzer.facts.host.tree import HostTree
from analyzer.facts.steps.find import Steps
from analyzer.spans.arrays import Int64Array
from analyzer.spans.columns import present
from analyzer.spans.intervals import EMPTY, IntervalSet
from analyzer.spans.labels import is_any, matching
from traces.reader.names.autograd import BACKWARD_NODE
from traces.trace import Trace

if TYPE_CHECKING:
    pass

# Where a loop left at least this part of the graph, what is done once for the graph is its cost.
_MOST_OF_GRAPH = 0.5


class BackwardTimes:
    """Nodes of the backward pass by the sequence number of the op they belong to.

    Args:
        trace: The trace.
        steps: The steps.
        tree: Their spans of the host.
    """

    def __init__(self, trace: Trace, steps: Steps, tree: HostTree) -> None:
        ops = trace.ops
        thread, start, end = (ops[name].to_numpy() for name in ("thread", "start_ns", "end_ns"))
        of_node = matching(ops["name"], re.compile(BACKWARD_NODE).match)
        rows = np.flatnonzero(of_node & steps.host_window.contains(start))
        rows = rows[np.lexsort((start[rows], thread[rows]))]
        numbers = ops["sequence"].iloc[rows]
        self._start, self._end = start[rows], end[rows]
        self._known = present(numbers)
        self._sequence = numbers.to_numpy(dtype=np.int64, na_value=0)
        self.starts = np.sort(self._start[self._known])
        # The last node of a step's, or a thread's, backward pass has none behind it.
        place = np.stack([thread[rows], steps.of_host(self._start)])
        self._followed = np.append(np.all(place[:, 1:] == place[:, :-1], axis=0), False)[: len(rows)]
        self._starting = self._counted(ops, place)
        self._ops = ops["sequence"]
        self._tree = tree

    def _counted(self, ops: pd.DataFrame, place: Int64Array) -> IntervalSet:
        """From the gradient that `backward()` makes to the first node: the engine counts what each node of the graph waits for."""
        first = np.append(True, np.any(place[:, 1:] != place[:, :-1], axis=0))[: len(self._start)]
        made = np.sort(ops["end_ns"].to_numpy()[is_any(ops["name"], "aten::ones_like")])
        begin = self._start[first]
        if not len(made) or not len(begin):
            return EMPTY
        before = made[np.maximum(np.searchsorted(made, begin, side="right") - 1, 0)]
        others = np.sort(ops["start_ns"].to_numpy(), kind="stable")
        # Nothing else begins between the two, or it is another's time.
        direct = (before <= begin) & (
            np.searchsorted(others, begin, side="left") == np.searchsorted(others, before, side="left")
        )
        return IntervalSet(before[direct], begin[direct])

    def numbered(self, rows: Int64Array) -> bool:
        """Whether ops and nodes have the numbers that join them: those under `no_grad` have none, nor have those of old traces.

        Args:
            rows: Rows of the tree, all of them ops.
        """
        return bool(self._known.any() and present(self._ops.iloc[self._tree.ops(rows)]).any())

    def of(self, rows: Int64Array, run: Int64Array) -> IntervalSet:
        """Time of the nodes that belong to ops of these runs, with what lies between two of them that follow one another.

        Args:
            rows: Rows of the tree, all of them ops.
            run: Number of the run of each, in order.
        """
        numbers = self._ops.iloc[self._tree.ops(rows)]
        known = present(numbers)
        if not known.any() or not self._known.any():
            return EMPTY
        number = numbers.to_numpy(dtype=np.int64, na_value=0)[known]
        first = np.flatnonzero(np.diff(run[known], prepend=-1))
        # The number of an op without gradient is that of the next one with: the last op's may belong to what follows the loop.
        ranges = IntervalSet(np.minimum.reduceat(number, first), np.maximum.reduceat(number, first))
        mine = self._known & ranges.contains(self._sequence)
        joined = mine & self._followed & np.append(mine[1:], False)
        end = np.where(joined, np.append(self._start[1:], 0), self._end)
        spans = IntervalSet(self._start[mine], np.maximum(end, self._end)[mine])
        return spans | self._starting if mine.sum() >= _MOST_OF_GRAPH * len(mine) else spans
