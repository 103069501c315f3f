"""What of the backward pass leads to no parameter that an optimizer updates, as `advisor collect` saw it in the graph.

The collector walks the graph of early passes and tells, by the name of nodes and in the order in which they run, which of them are
for nothing; where the passes of a step differ in that, it tells of each of them by its place in the step. The engine runs the
youngest node first, so that sequence numbers fall within a pass and rise where another begins.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec
import numpy as np
import pandas as pd

from analyzer.facts.host.asking import operator_name
from analyzer.facts.host.ops import pick, pick_row
from analyzer.facts.host.section import HostFacts
from analyzer.facts.kernels.find import Kernels
from analyzer.facts.steps.find import Steps
from analyzer.spans.arrays import BoolArray, Int64Array
from analyzer.spans.columns import present
from analyzer.spans.intervals import IntervalSet
from analyzer.spans.labels import matching, texts
from analyzer.spans.open_spans import NONE
from traces.reader.names.vocabulary import around_accumulation, is_backward_node

# What the collector's digits say.
_NEEDED, _HALF, _NOTHING = 0, 1, 2


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
    host: HostFacts, kernels: Kernels, steps: Steps, marks: Sequence[Mapping[str, str]], *, on_device: bool
) -> ForNothing:
    """Finds the nodes in the trace that the collector's marks name; a pass with another number of them is left out.

    Args:
        host: Ops.
        kernels: Kernels of the used steps.
        steps: The steps.
        marks: By name of nodes a digit for each of a pass: once for all passes, or for each pass of a step.
        on_device: Whether device work was recorded.
    """
    tree = host.ops
    # The engine's span of a node holds one of the node itself.
    node = tree.outermost(tree.named(is_backward_node))
    said = _said(tree.ops, np.flatnonzero(node), marks, steps) if marks else np.full(len(node), _NEEDED)
    whole, half = said == _NOTHING, said == _HALF
    if on_device:
        inside = pick_row(tree.nearest(node), kernels.frame["op"].to_numpy())
        of_whole, of_half = pick(whole, inside), pick(half, inside)
        return ForNothing(kernels.spans(of_whole), kernels.spans(of_half), of_whole, of_half)
    begin, end = tree.ops["start_ns"].to_numpy(), tree.ops["end_ns"].to_numpy()
    spans = [IntervalSet(begin[one], end[one]) & steps.host_window for one in (whole, half)]
    return ForNothing(spans[0], spans[1], kernels.none, kernels.none)


def _said(ops: pd.DataFrame, nodes: Int64Array, marks: Sequence[Mapping[str, str]], steps: Steps) -> Int64Array:
    """For each op what is said of it, if it is a node: all, half or nothing of it is needed; shape (ops,).

    Args:
        ops: `trace.ops`.
        nodes: Rows of the nodes.
        marks: As for `for_nothing`.
        steps: The steps.
    """
    said = np.full(len(ops), _NEEDED)
    start, thread = ops["start_ns"].to_numpy()[nodes], ops["thread"].to_numpy()[nodes]
    nodes = nodes[np.lexsort((start, thread))]
    names = np.array([operator_name(name) for name in texts(ops["name"].iloc[nodes])], dtype=object)
    gathers = matching(ops["name"].iloc[nodes], around_accumulation) | ~present(ops["sequence"])[nodes]
    computes, called = nodes[~gathers], names[~gathers]
    turn = _passes(ops, computes)
    in_step = _places(ops["start_ns"].to_numpy()[computes], turn, steps, len(marks))
    for place_in_step, of_pass in enumerate(marks):
        for name, text in of_pass.items():
            mine = np.flatnonzero((called == name) & (in_step == place_in_step))
            place, size = _in_group(turn[mine])
            fits = size == len(text)
            said[computes[mine[fits]]] = np.array([int(digit) for digit in text])[place[fits]]
    # What adds a gradient to its parameter runs directly behind the node that made it.
    before = np.maximum.accumulate(np.where(gathers, NONE, np.arange(len(nodes))))
    behind = gathers & (before != NONE)
    made = said[nodes[before[behind]]]
    said[nodes[behind]] = np.where(made == _NOTHING, _NOTHING, _NEEDED)
    return said


def _passes(ops: pd.DataFrame, nodes: Int64Array) -> Int64Array:
    """The number of the pass that each node is in, by thread and time; shape of `nodes`."""
    number = ops["sequence"].to_numpy(dtype=np.int64, na_value=0)[nodes]
    thread = ops["thread"].to_numpy()[nodes]
    begins = np.ones(len(nodes), dtype=bool)
    begins[1:] = (number[1:] > number[:-1]) | (thread[1:] != thread[:-1])
    return np.cumsum(begins)


def _places(start_ns: Int64Array, turn: Int64Array, steps: Steps, many: int) -> Int64Array:
    """For each node which pass of its step it is in, from 0; `NONE` in a step with another number of passes.

    Args:
        start_ns: When the nodes start.
        turn: The pass that each is in, as of `_passes`.
        steps: The steps.
        many: How many passes a step has; with 1, all are alike.
    """
    if many == 1:
        return np.zeros(len(turn), dtype=np.int64)
    numbers, of_pass = np.unique(turn, return_inverse=True)
    begin = np.full(len(numbers), np.iinfo(np.int64).max)
    np.minimum.at(begin, of_pass, start_ns)
    order = np.argsort(begin, kind="stable")
    step = np.searchsorted(steps.frame["host_start_ns"].to_numpy(), begin[order], side="right")
    place, size = _in_group(step)
    in_step = np.empty(len(numbers), dtype=np.int64)
    in_step[order] = np.where(size == many, place, NONE)
    return in_step[of_pass]


def _in_group(group: Int64Array) -> tuple[Int64Array, Int64Array]:
    """For each row its place in its group, and how many that has; groups in order, shape (rows,) all."""
    _, first, size = np.unique(group, return_index=True, return_counts=True)
    return np.arange(len(group)) - np.repeat(first, size), np.repeat(size, size)
