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
from analyzer.spans.arrays import BoolArray, Int64Array
from analyzer.spans.grouping import distinct
from analyzer.spans.intervals import EMPTY, IntervalSet
from analyzer.spans.labels import codes_of, is_any, matching
from analyzer.spans.moments import moments_in
from analyzer.spans.nesting import nest
from analyzer.spans.usual import usual_ns
from traces.patterns import Pattern
from traces.reader.names.vocabulary import around_accumulation, is_backward_node
from traces.trace import Trace

# Passes an update from which they are a loop over samples, as for repeated ops; accumulating gradients mostly takes 2 to 8.
MIN_PASSES = 10
# Before torch 2.4 times are whole microseconds: an op may end behind the start of the next one, or before that of its last child.
_ROUNDED_NS = 1_000
# Searches along a line: each of its passes needs the result of the one before.
_SEARCHES = Pattern("LBFGS", re.IGNORECASE)
# What runs where a leaf receives its gradient; what is taken out for `torch.autograd.grad` ends one level above it.
_RECEIVES = Pattern(r"(?!autograd::engine).*\bAccumulateGrad$")
_LAYER = Pattern(
    r"aten::(?:linear|addmm|mm|matmul|bmm|baddbmm|einsum|embedding|conv\w*|lstm|gru|rnn_tanh|rnn_relu|scaled_dot_product\w*)$"
)
# The node behind a linear layer's weight, as torch names it with and without a number.
_TURNED = ("TBackward0", "TBackward")
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
        returns: Whether in most no leaf receives a gradient, as in calls of `torch.autograd.grad`; False where none ever does.
        over_one_graph: Whether no layer runs forward in most turns: they go back through what ran before them.
        of_weights: Whether most turns take gradients of weights, as nodes that turn these back show; those of inputs need none.
    """

    spans: IntervalSet
    passes: int
    updates: int
    usual_op_ns: float
    adds_up: bool = False
    returns: bool = False
    over_one_graph: bool = False
    of_weights: bool = False

    @property
    def again(self) -> bool:
        """Whether calls go back through one graph again and again, as for second derivatives: all in one call compute as much."""
        return self.returns and self.over_one_graph


def many_passes(trace: Trace, steps: Steps) -> Passes:
    """Finds updates with at least `MIN_PASSES` backward passes."""
    ops, ranges = trace.ops, trace.annotations
    backward = matching(ops["name"], is_backward_node)
    if np.count_nonzero(backward) < MIN_PASSES:
        return Passes(EMPTY, 0, 0, 0.0)
    start, end = ops["start_ns"].to_numpy(), ops["end_ns"].to_numpy()
    within = steps.host_window.contains(start)
    nodes = np.flatnonzero(backward & within)
    nodes = nodes[np.argsort(start[nodes], kind="stable")]
    starts = start[nodes]
    made = is_any(ops["name"], "aten::ones_like") & within
    # What fills a gradient may seem to begin behind it.
    others = start[within & ~is_any(ops["name"], "aten::fill_")]
    begins = _begins(others, starts, start[made], end[made])
    optimizer, began = is_any(ranges["kind"], "optimizer_step"), ranges["start_ns"].to_numpy()
    bounds = distinct(np.concatenate([began[optimizer], steps.used["host_start_ns"].to_numpy(), [_NEVER]]))
    number_of = np.searchsorted(bounds, begins, side="right")
    update, first, number = np.unique(number_of, return_index=True, return_counts=True)
    searching = began[optimizer & matching(ranges["name"], _SEARCHES.search)]
    many = (number >= MIN_PASSES) & ~np.isin(bounds[update], searching)
    if not many.any():
        return Passes(EMPTY, 0, 0, 0.0)
    ended = np.maximum.accumulate(end[nodes])
    after_first = ended[np.searchsorted(starts, begins[first[many] + 1]) - 1]
    after_last = ended[np.searchsorted(starts, bounds[update[many]]) - 1]
    spans = IntervalSet(after_first, after_last) & steps.window
    inside = np.flatnonzero(within & spans.contains(start))
    outermost = inside[nest(ops["thread"].to_numpy()[inside], start[inside], end[inside]).is_root]
    usual = usual_ns(codes_of(ops["name"])[outermost].astype(np.int64), ops["dur_ns"].to_numpy(np.int64)[outermost])
    passes = int(number[many].sum())
    layers = inside[matching(ops["name"].iloc[inside], _LAYER.match)]
    forward = ~IntervalSet(starts, end[nodes]).contains(start[layers])
    return Passes(
        spans,
        passes,
        int(many.sum()),
        usual,
        adds_up=_adds_up(ops, within, spans, passes),
        returns=_returns(
            start[within & matching(ops["name"], _RECEIVES.match)], begins[np.isin(number_of, update[many])]
        ),
        over_one_graph=bool(2 * np.count_nonzero(forward) < passes),
        of_weights=_of_weights(begins, first[many], number[many], starts[is_any(ops["name"].iloc[nodes], *_TURNED)]),
    )


def _of_weights(begins: Int64Array, first: Int64Array, number: Int64Array, turned: Int64Array) -> bool:
    """Whether weights are turned back as often as there are turns before the last of each update, which goes through all of them.

    Args:
        begins: When each pass begins, in order.
        first: Place in `begins` of the first pass of each update.
        number: How many it has.
        turned: When weights are turned back.
    """
    turns = IntervalSet(begins[first], begins[first + number - 1])
    return bool(np.count_nonzero(turns.contains(turned)) >= (number - 1).sum())


def _returns(received: Int64Array, begins: Int64Array) -> bool:
    """Whether less than half of the passes hand a gradient to a leaf.

    Args:
        received: When leaves received gradients in the used steps; where none did, nothing says that it would show.
        begins: When each pass begins, in order.
    """
    # Before the first none has begun.
    receiving = np.count_nonzero(distinct(np.searchsorted(begins, received, side="right")))
    return len(received) > 0 and bool(2 * receiving < len(begins))


def _adds_up(ops: pd.DataFrame, within: BoolArray, spans: IntervalSet, passes: int) -> bool:
    """Whether a gradient is added in place where a leaf receives its own, in half of the passes or more."""
    receiving = IntervalSet.of_rows(ops, within & matching(ops["name"], around_accumulation))
    added = ops["start_ns"].to_numpy()[within & is_any(ops["name"], "aten::add_")]
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
    between = moments_in(starts, done, node)
    found: Int64Array = distinct(node[(between <= 0) & (node >= done - _ROUNDED_NS)])
    return found
