"""Backward passes that one update is made of: many of them are gradients taken sample by sample, or a batch cut very small.

Each `backward()` of a scalar makes a gradient of one (`aten::ones_like`) directly before the first node of its pass. Passes are
counted between two steps of the optimizer; where it leaves no range, between two marked steps. Those of an optimizer that calls its
closure again and again are its own.
"""

from __future__ import annotations

import re

import msgspec
import numpy as np
import pandas as pd

from analyzer.facts.steps.find import Steps
from analyzer.spans.arrays import Int64Array
from analyzer.spans.grouping import chosen, distinct
from analyzer.spans.intervals import EMPTY, IntervalSet
from analyzer.spans.labels import codes_of, is_any, matching
from analyzer.spans.nesting import nest
from analyzer.spans.usual import usual_ns
from traces.reader.names.vocabulary import is_backward_node
from traces.trace import Trace

# Passes an update from which they are a loop over samples, as for repeated ops; accumulating gradients mostly takes 2 to 8.
MIN_PASSES = 10
# Before torch 2.4 times are whole microseconds: an op may end behind the start of the next one, or before that of its last child.
_ROUNDED_NS = 1_000
# Searches along a line: each of its passes needs the result of the one before.
_SEARCHES = re.compile("LBFGS", re.IGNORECASE)
_ACCUMULATES = re.compile(r".*\bAccumulateGrad$")
_NEVER = np.iinfo(np.int64).max


class Passes(msgspec.Struct, frozen=True):
    """Updates of the used steps that take many backward passes.

    Args:
        spans: In each such update from the end of the first pass to the end of the last: all turns but one, forward and backward.
        passes: How many passes these updates have.
        updates: How many such updates.
        usual_op_ns: Mean time of one op, or node of the backward pass, in the spans, without those that took far longer than others
            of their name; 0 without.
        adds_up: Whether each adds its gradients to those of the one before; where those of every sample are wanted, none does.
    """

    spans: IntervalSet
    passes: int
    updates: int
    usual_op_ns: float
    adds_up: bool = False


def many_passes(trace: Trace, steps: Steps) -> Passes:
    """Finds updates with at least `MIN_PASSES` backward passes."""
    window, ops, ranges = steps.window, trace.ops, trace.annotations
    backward = matching(ops["name"], is_backward_node)
    if np.count_nonzero(backward) < MIN_PASSES:
        return Passes(EMPTY, 0, 0, 0.0)
    within = steps.host_window.contains(ops["start_ns"].to_numpy())
    nodes = chosen(ops, backward & within).sort_values("start_ns", kind="stable")
    ops = chosen(ops, within)
    starts = nodes["start_ns"].to_numpy()
    made = chosen(ops, is_any(ops["name"], "aten::ones_like"))
    # What fills a gradient may seem to begin behind it.
    others = ops["start_ns"].to_numpy()[~is_any(ops["name"], "aten::fill_")]
    begins = _begins(others, starts, made["start_ns"].to_numpy(), made["end_ns"].to_numpy())
    ranges = chosen(ranges, is_any(ranges["kind"], "optimizer_step"))
    optimizer = ranges["start_ns"].to_numpy()
    bounds = distinct(np.concatenate([optimizer, steps.used["host_start_ns"].to_numpy(), [_NEVER]]))
    update, first, number = np.unique(
        np.searchsorted(bounds, begins, side="right"), return_index=True, return_counts=True
    )
    searching = optimizer[matching(ranges["name"], _SEARCHES.search)]
    many = (number >= MIN_PASSES) & ~np.isin(bounds[update], searching)
    if not many.any():
        return Passes(EMPTY, 0, 0, 0.0)
    ended = np.maximum.accumulate(nodes["end_ns"].to_numpy())
    after_first = ended[np.searchsorted(starts, begins[first[many] + 1]) - 1]
    after_last = ended[np.searchsorted(starts, bounds[update[many]]) - 1]
    spans = IntervalSet(after_first, after_last) & window
    inside = chosen(ops, spans.contains(ops["start_ns"].to_numpy()))
    outermost = chosen(inside, nest(inside["thread"], inside["start_ns"], inside["end_ns"]).is_root)
    usual = usual_ns(codes_of(outermost["name"]).astype(np.int64), outermost["dur_ns"].to_numpy(np.int64))
    passes = int(number[many].sum())
    return Passes(spans, passes, int(many.sum()), usual, adds_up=_adds_up(ops, spans, passes))


def _adds_up(ops: pd.DataFrame, spans: IntervalSet, passes: int) -> bool:
    """Whether a gradient is added in place where a leaf receives its own, in half of the passes or more."""
    receiving = IntervalSet.of_rows(ops, matching(ops["name"], _ACCUMULATES.match))
    added = ops["start_ns"].to_numpy()[is_any(ops["name"], "aten::add_")]
    return bool(2 * np.count_nonzero((receiving & spans).contains(added)) >= passes)


def _begins(starts: Int64Array, nodes: Int64Array, made: Int64Array, done: Int64Array) -> Int64Array:
    """Start of the node that comes next after each gradient was made, where no other op begins between them.

    Args:
        starts: Of all other ops.
        nodes: Starts of the nodes of backward passes, in order.
        made: Starts of the ops that make a gradient.
        done: Their ends.
    """
    place = np.searchsorted(nodes, made, side="left")
    made, done, place = made[place < len(nodes)], done[place < len(nodes)], place[place < len(nodes)]
    node = nodes[place]
    starts = np.sort(starts)
    between = np.searchsorted(starts, node, side="left") - np.searchsorted(starts, done, side="left")
    found: Int64Array = distinct(node[(between <= 0) & (node >= done - _ROUNDED_NS)])
    return found
