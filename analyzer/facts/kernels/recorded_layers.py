"""Layers that autograd records for a backward pass, by the numbers that ops carry.

An op gets a sequence number where autograd records, and each op that is recorded for the backward pass takes one. Under
`torch.no_grad()` ops carry none; where no weight wants a gradient the next op carries the same number. Inside the forward pass of
an autograd function in Python nothing is recorded, though its own backward pass takes the gradient: a checkpoint is one, and
so are layers of many libraries.
"""

from __future__ import annotations

import msgspec
import numpy as np

from analyzer.facts.host.ops import OpTree
from analyzer.facts.host.section import HostFacts
from analyzer.facts.kernels.recomputation import FORWARD
from analyzer.facts.steps.find import Steps
from analyzer.spans.arrays import BoolArray, Int64Array
from analyzer.spans.intervals import IntervalSet
from analyzer.spans.labels import distinct_texts
from analyzer.spans.open_spans import NONE
from traces.reader.names.vocabulary import is_backward_node


class RecordedLayers(msgspec.Struct, frozen=True):
    """Layers of the forward pass in the used steps, on the main thread.

    Args:
        layers: Calls of layers, in no other layer.
        recorded: How many of them a backward pass is recorded for.
        steps: Used steps with one that is recorded.
    """

    layers: int
    recorded: int
    steps: int


def recorded_layers(host: HostFacts, steps: Steps) -> RecordedLayers:
    """Counts them.

    Args:
        host: Ops.
        steps: The steps.
    """
    rows, taken = outer_layers(host)
    start = host.ops.ops["start_ns"].to_numpy()[rows]
    inside = steps.host_window.contains(start)
    recorded = inside & taken
    return RecordedLayers(int(inside.sum()), int(recorded.sum()), steps.count_of_host(start[recorded]))


def recorded_beside(host: HostFacts, beside: IntervalSet, updates: IntervalSet) -> RecordedLayers:
    """Counts those that run beside the passes of what is trained; `steps` counts the stretches with one that is recorded.

    Behind the last update a forward pass may be one of training, whose backward pass is not in the trace.

    Args:
        host: Ops.
        beside: What lies in no pass of what is trained, and in no update.
        updates: From the end of each backward pass to the end of the update behind it.
    """
    if not updates:
        return RecordedLayers(0, 0, 0)
    rows, taken = outer_layers(host)
    start = host.ops.ops["start_ns"].to_numpy()[rows]
    inside = beside.contains(start) & (start < updates.end_ns.max())
    stretch = np.searchsorted(updates.end_ns, start[inside & taken])
    return RecordedLayers(int(inside.sum()), int((inside & taken).sum()), len(np.unique(stretch)))


def outer_layers(host: HostFacts) -> tuple[Int64Array, BoolArray]:
    """Layers outside the backward pass and in no other layer, by start, and which of them are recorded; shape (layers,) each."""
    tree = host.ops
    ops = tree.ops
    node = tree.named(is_backward_node)
    layers = tree.named(FORWARD.__contains__) & (tree.nearest(node) == NONE)
    top = np.flatnonzero(tree.outermost(layers) & (ops["thread"].to_numpy() == host.main_thread))
    top = top[np.argsort(ops["start_ns"].to_numpy()[top], kind="stable")]
    number = ops["sequence"].to_numpy(dtype=np.int64, na_value=-1)[top]
    taken = (number >= 0) & (np.append(number[1:], np.iinfo(np.int64).max) != number)
    return top, taken | _in_functions(tree)[top]


def _in_functions(tree: OpTree) -> BoolArray:
    """Which ops are inside an autograd function whose node is in the backward pass: `CheckpointFunction`, say. Shape (ops,)."""
    nodes = {name.removesuffix("Backward") for name in distinct_texts(tree.ops["name"]) if name.endswith("Backward")}
    return tree.under(tree.named(nodes.__contains__))
