"""Weights and gradients that a program sends with calls of its own, where no module does it: told by where in a step they are."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import numpy as np
import pandas as pd

from analyzer.facts.communication.between_layers import FEW_BYTES
from analyzer.facts.communication.passes import layers_ns, nodes_ns
from analyzer.facts.host.ops import OpTree
from analyzer.spans.arrays import BoolArray, FloatArray
from analyzer.spans.intervals import EMPTY, IntervalSet
from analyzer.spans.labels import is_any
from analyzer.spans.moments import last_before
from traces.reader.names.vocabulary import is_backward_node
from traces.trace import Trace


class SentByHand(msgspec.Struct, frozen=True):
    """When what is sent, of more than a few numbers each.

    Args:
        averaged: Sums behind an update and before the next backward pass: weights, as local SGD averages them.
        averaged_calls: How many there are.
        given: Broadcasts there, of the sizes in which gradients are summed in the same steps.
        summed: Sums between a backward pass and the update that follows: gradients.
    """

    averaged: IntervalSet = EMPTY
    averaged_calls: int = 0
    given: IntervalSet = EMPTY
    summed: IntervalSet = EMPTY


def sent_by_hand(
    trace: Trace, tree: OpTree, calls: pd.DataFrame, spans_of: Callable[[pd.DataFrame], IntervalSet]
) -> SentByHand:
    """Looks at collectives of known size.

    Args:
        trace: The trace.
        tree: Which op encloses which.
        calls: The collectives, as `Collectives.calls` has them.
        spans_of: When some of them communicate.
    """
    at, sizes = calls["start_ns"].to_numpy("int64"), calls["size_bytes"].to_numpy()
    ranges = trace.annotations
    updates = np.sort(ranges["end_ns"].to_numpy()[is_any(ranges["kind"], "optimizer_step")])
    if not len(at) or not len(updates):
        return SentByHand()
    node, large = last_before(nodes_ns(tree), at, "right"), sizes > FEW_BYTES
    behind = last_before(updates, at, "right") > node
    inside = IntervalSet.of_rows(tree.ops, tree.named(is_backward_node)).contains(at)
    backward = ~behind & ~inside & (node > last_before(layers_ns(tree), at, "right"))
    kind = calls["kind"].astype("str").to_numpy()
    sums = (kind == "all_reduce") & large
    averaged, summed, given = sums & behind, sums & backward, (kind == "broadcast") & large & behind
    alike = _alike(sizes, given, sums & ~behind)
    return SentByHand(
        averaged=spans_of(calls[averaged]),
        averaged_calls=int(averaged.sum()),
        given=spans_of(calls[given]) if alike else EMPTY,
        summed=spans_of(calls[summed]),
    )


def _alike(sizes: FloatArray, given: BoolArray, sums: BoolArray) -> bool:
    """Whether broadcasts have the sizes of sums, and are no more of them."""
    return bool(given.any()) and set(sizes[given]) == set(sizes[sums]) and int(given.sum()) <= int(sums.sum())
