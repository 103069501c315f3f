"""What a program that trains on the CPU computes in no pass of its model and in no update: between an update and a forward pass.

Metrics, logs, averages and copies of weights run there, and what prepares a batch; a model that is only run does, too. Ops carry
the number that the next node of the graph will have: the last op with the lowest number among the nodes of a backward pass is the
first of its forward pass.
"""

from __future__ import annotations

import numpy as np

from analyzer.facts.host.section import HostFacts
from analyzer.facts.steps.find import Steps
from analyzer.spans.arrays import BoolArray, Int64Array
from analyzer.spans.intervals import EMPTY, IntervalSet
from analyzer.spans.stretches import stretches
from traces.reader.names.vocabulary import is_backward_node


def outside_passes(host: HostFacts, steps: Steps, updates: IntervalSet) -> IntervalSet:
    """When ops of the main thread run in the used steps, but in no pass and no update; empty where nothing shows to be trained.

    Args:
        host: Ops.
        steps: The steps.
        updates: From the end of each backward pass to the end of the update behind it.
    """
    start, end = (host.ops.ops[name].to_numpy() for name in ("start_ns", "end_ns"))
    roots = _roots(host, start)
    return (IntervalSet(start[roots], end[roots]) & steps.window) & beside_passes(host, steps, updates)


def beside_passes(host: HostFacts, steps: Steps, updates: IntervalSet) -> IntervalSet:
    """What of the used steps lies in no pass and in no update, ops or not: from an update to the forward pass behind it.

    Args:
        host: Ops.
        steps: The steps.
        updates: From the end of each backward pass to the end of the update behind it.
    """
    ops, tree = host.ops.ops, host.ops
    here = (ops["thread"] == host.main_thread).to_numpy(dtype=bool)
    number = np.where(here, ops["sequence"].to_numpy(dtype=np.int64, na_value=-1), -1)
    node = here & tree.named(is_backward_node)
    if not updates or not (number[node] >= 0).any():
        return EMPTY
    start, end = ops["start_ns"].to_numpy(), ops["end_ns"].to_numpy()
    roots = _roots(host, start)
    begin, behind, lowest = _backward_passes(start, end, number, node, roots)
    known = np.flatnonzero((number >= 0) & ~node)
    known = known[np.lexsort((start[known], number[known]))]
    if not len(known):
        return EMPTY
    last = known[np.maximum(np.searchsorted(number[known], lowest, side="right") - 1, 0)]
    # The outermost op that holds it: what it calls carries its number as well.
    around = start[roots[np.searchsorted(start[roots], start[last], side="right") - 1]]
    # Where it was not recorded, the pass may have begun with the end of the update before.
    before = np.append(start.min(), updates.end_ns)[np.searchsorted(updates.end_ns, begin, side="right")]
    passes = IntervalSet(np.where(number[last] == lowest, around, before), behind)
    return steps.window - passes - updates


def _roots(host: HostFacts, start: Int64Array) -> Int64Array:
    """Outermost ops of the main thread, in order."""
    roots = np.flatnonzero((host.ops.ops["thread"] == host.main_thread).to_numpy(dtype=bool) & (host.ops.depth == 0))
    return roots[np.argsort(start[roots], kind="stable")]


def _backward_passes(
    start: Int64Array, end: Int64Array, number: Int64Array, node: BoolArray, roots: Int64Array
) -> tuple[Int64Array, Int64Array, Int64Array]:
    """Begin, end and lowest number of each backward pass, in order: of its nodes, with no other outermost op in between."""
    nodes = np.flatnonzero(node)
    back = np.zeros(len(roots), dtype=bool)
    back[np.searchsorted(start[roots], start[nodes], side="right") - 1] = True
    first, after = stretches(back)
    begin, behind = start[roots[first]], end[roots[after - 1]]
    lowest = np.full(len(begin), np.iinfo(np.int64).max)
    nodes = nodes[number[nodes] >= 0]
    np.minimum.at(lowest, np.searchsorted(begin, start[nodes], side="right") - 1, number[nodes])
    return begin, behind, lowest
