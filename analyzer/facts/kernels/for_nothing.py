"""What of the backward pass leads to no parameter that an optimizer updates, as `advisor collect` saw it in the graph.

The collector walks the graph of early passes and tells, by the name of nodes and in the order in which they run, which of them are
for nothing. The engine runs the youngest node first, so that sequence numbers fall within a pass and rise where another begins.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
import numpy as np

from analyzer.facts.host.section import HostFacts
from analyzer.facts.kernels.find import Kernels
from analyzer.facts.steps.find import Steps
from analyzer.spans.arrays import BoolArray
from analyzer.spans.columns import present
from analyzer.spans.intervals import IntervalSet
from analyzer.spans.open_spans import NONE
from traces.reader.names.vocabulary import is_backward_node

_ACCUMULATES = "AccumulateGrad"


class ForNothing(msgspec.Struct, frozen=True, eq=False):
    """Work of the backward pass whose results nobody takes, in the used steps.

    Args:
        whole: Nodes of which all that they compute is for nothing: their kernels; the nodes themselves without a device.
        half: Those of which one of two products is.
        whole_kernels: Kernels of the first, shape (kernels,).
        half_kernels: Kernels of the second, shape (kernels,).
    """

    whole: IntervalSet
    half: IntervalSet
    whole_kernels: BoolArray
    half_kernels: BoolArray


def for_nothing(
    host: HostFacts, kernels: Kernels, steps: Steps, marks: Mapping[str, str], *, on_device: bool
) -> ForNothing:
    """Finds the nodes in the trace that the collector's marks name; a pass with another number of them is left out.

    Args:
        host: Ops.
        kernels: Kernels of the used steps.
        steps: The steps.
        marks: By name of nodes a digit for each of a pass.
        on_device: Whether device work was recorded.
    """
    tree = host.ops
    ops = tree.ops
    # The engine's span of a node holds one of the node itself.
    node = tree.outermost(tree.named(is_backward_node))
    whole, half = np.zeros(len(node), dtype=bool), np.zeros(len(node), dtype=bool)
    rows = np.flatnonzero(node) if marks else np.empty(0, dtype=np.int64)
    if len(rows):
        start, thread = ops["start_ns"].to_numpy()[rows], ops["thread"].to_numpy()[rows]
        rows = rows[np.lexsort((start, thread))]
        names = np.array([name.rpartition(": ")[2] for name in ops["name"].iloc[rows].astype(str)], dtype=object)
        gathers = (
            np.array([name.endswith(_ACCUMULATES) for name in names], dtype=bool) | ~present(ops["sequence"])[rows]
        )
        computes, called = rows[~gathers], names[~gathers]
        number = ops["sequence"].to_numpy(dtype=np.int64, na_value=0)[computes]
        of_thread = ops["thread"].to_numpy()[computes]
        begins = np.ones(len(computes), dtype=bool)
        begins[1:] = (number[1:] > number[:-1]) | (of_thread[1:] != of_thread[:-1])
        turn = np.cumsum(begins)
        for name, text in marks.items():
            mine = np.flatnonzero(called == name)
            _, first, size = np.unique(turn[mine], return_index=True, return_counts=True)
            fits = np.repeat(size == len(text), size)
            place = np.arange(len(mine)) - np.repeat(first, size)
            digit = np.array(list(text))[np.where(fits, place, 0)]
            whole[computes[mine[fits & (digit == "2")]]] = True
            half[computes[mine[fits & (digit == "1")]]] = True
        # What adds a gradient to its parameter runs directly behind the node that made it.
        before = np.maximum.accumulate(np.where(gathers, -1, np.arange(len(rows))))
        behind = gathers & (before >= 0)
        whole[rows[behind]] = whole[rows[before[behind]]]
    nearest = tree.nearest(node)
    inside = np.append(nearest, NONE)[kernels.frame["op"].to_numpy()]
    of_whole, of_half = (np.append(one, False)[inside] for one in (whole, half))
    if on_device:
        return ForNothing(kernels.spans(of_whole), kernels.spans(of_half), of_whole, of_half)
    begin, end = ops["start_ns"].to_numpy(), ops["end_ns"].to_numpy()
    spans = [IntervalSet(begin[one], end[one]) & steps.host_window for one in (whole, half)]
    return ForNothing(spans[0], spans[1], of_whole, of_half)
