"""Which of some ranges each op belongs to: the one it runs in, or, in the backward pass, the one of the op that left its node.

Autograd numbers the ops that leave a node, and each node carries that number. Of ops with one number the last left the node; those
before needed none.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from analyzer.facts.host.section import HostFacts
from analyzer.spans.arrays import BoolArray, FloatArray, Int64Array
from analyzer.spans.open_spans import NONE, OpenSpans
from analyzer.spans.span_tree import SpanTree
from traces.ordering import found_in


def opened(spans: pd.DataFrame, tree: SpanTree) -> OpenSpans:
    """Which of the ranges is open when.

    Args:
        spans: Ranges: thread, start_ns, end_ns.
        tree: How they nest.
    """
    return OpenSpans(spans["thread"].to_numpy(), spans["start_ns"].to_numpy(), spans["end_ns"].to_numpy(), tree.parent)


def inside_nodes(spans: pd.DataFrame, ops: pd.DataFrame, node: Int64Array, host: HostFacts) -> Int64Array:
    """For each range the row of the innermost node of the backward pass it runs in; -1 for one of the forward pass."""
    at = host.ops.enclosing(spans["thread"].to_numpy(), spans["start_ns"].to_numpy())
    return np.append(node, NONE)[at] if len(ops) else at


def owners(ops: pd.DataFrame, node: Int64Array, ranges: OpenSpans, again: Int64Array) -> tuple[Int64Array, BoolArray]:
    """The range that each op belongs to, -1 for none; and whether it runs in the backward pass.

    Args:
        ops: `trace.ops`.
        node: For each op the row of the innermost node of the backward pass around it, -1 for none.
        ranges: As of `opened`.
        again: As of `inside_nodes`.
    """
    own = ranges.at(ops["thread"].to_numpy(), ops["start_ns"].to_numpy())
    backward = node != NONE
    number = ops["sequence"].to_numpy(dtype=np.float64, na_value=np.nan)
    numbers, last = last_of_number(number, ~backward)
    # What is computed again in the backward pass has calls of its own there.
    recomputed = backward & (np.append(again, NONE)[own] != NONE)
    linked = backward & ~recomputed
    place, known = found_in(numbers, number[node[linked]])
    own[linked] = np.where(known, np.append(own[last], NONE)[place], NONE)
    return own, backward


def last_of_number(number: FloatArray, wanted: BoolArray) -> tuple[FloatArray, Int64Array]:
    """Numbers, NaN left out, of some rows, each once and in order; and the last row that has each."""
    rows = np.flatnonzero(wanted & ~np.isnan(number))
    rows = rows[np.argsort(number[rows], kind="stable")]
    numbers = number[rows]
    last = np.append(numbers[1:] != numbers[:-1], True)[: len(rows)]
    return numbers[last], rows[last]
