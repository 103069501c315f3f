"""Collectives that stand between the layers of the forward pass: they exchange activations, and each needs the one before.

Tensor parallelism adds up the parts of a layer's result before the next layer begins. What helps gradients (buckets, accumulating,
16 bits) does nothing for them. Told by their place: a layer's op before and one after them, and between these neither a node of the
backward pass nor an optimizer, a batch or a new step. Beside such, what nodes of DTensor send in the backward pass.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from analyzer.facts.loops.find import LAYER
from analyzer.spans.arrays import BoolArray, Int64Array
from analyzer.spans.intervals import IntervalSet
from analyzer.spans.labels import is_any, matching
from traces.patterns import Pattern
from traces.reader.names.vocabulary import is_backward_node
from traces.trace import Trace

if TYPE_CHECKING:
    import pandas as pd


# A number, or a handful of them, is a scale, a norm or a flag: of activations even one token has a thousand.
FEW_BYTES = 64
_REDUCING = ("all_reduce", "allreduce", "reduce_scatter")
_GATHERING = ("all_gather", "allgather")
# Nodes of DTensor that send gradients of activations, where these are split or summed between layers.
_DTENSORS_NODES = Pattern(r"(?:_FromTorchTensor|Redistribute)Backward")
_BOUNDARIES = ("optimizer_step", "zero_grad", "loader")


def between_layers(trace: Trace, calls: pd.DataFrame, *, gathers: bool) -> BoolArray:
    """Which of these collectives exchange activations between two layers of the forward pass, shape (calls,).

    Args:
        trace: The trace.
        gathers: Whether gathering counts where something is reduced between layers as well. Alone it may be of parameters that are
            sharded, or of features in front of a contrastive loss.
        calls: Columns kind, start_ns and size_bytes (NaN where it is not known), one row per collective.
    """
    if not len(calls):
        return np.zeros(0, dtype=np.bool_)
    kinds = calls["kind"].tolist()
    counted = (*_REDUCING, *_GATHERING) if gathers else _REDUCING
    reduces = {kind: any(part in kind for part in counted) for kind in set(kinds)}
    reducing = np.array([reduces[kind] for kind in kinds]) & ~(calls["size_bytes"].to_numpy() <= FEW_BYTES)
    if not reducing.any():
        return reducing
    ops, ranges = trace.ops, trace.annotations
    starts = ops["start_ns"].to_numpy()
    backward = matching(ops["name"], is_backward_node)
    boundaries = np.sort(
        np.concatenate(
            [
                starts[backward],
                # What is reduced behind the last node of a micro-batch is not between its products and those of the next one.
                ops["end_ns"].to_numpy()[backward],
                ranges["start_ns"].to_numpy()[is_any(ranges["kind"], *_BOUNDARIES)],
                trace.steps["start_ns"].to_numpy(),
            ]
        )
    )
    layers = np.sort(starts[matching(ops["name"], LAYER.match)])
    if not len(layers):
        return np.zeros(len(calls), dtype=bool)
    at = calls["start_ns"].to_numpy()
    after = np.searchsorted(layers, at, side="right")
    inside = (after > 0) & (after < len(layers))
    stretch = _stretch(boundaries, at)
    before_it, behind_it = layers[np.maximum(after - 1, 0)], layers[np.minimum(after, len(layers) - 1)]
    same = (_stretch(boundaries, before_it) == stretch) & (_stretch(boundaries, behind_it) == stretch)
    found: BoolArray = reducing & inside & same
    gathered = np.array([not any(part in kind for part in _REDUCING) for kind in kinds])
    sums: BoolArray = found & ~gathered
    if not sums.any():
        return sums
    # Where layers are split, the backward pass sends as much as the forward pass does.
    nodes = IntervalSet.of_rows(ops, matching(ops["name"], _DTENSORS_NODES.match))
    again: BoolArray = reducing & nodes.contains(at)
    return found | again


def _stretch(boundaries: Int64Array, at: Int64Array) -> Int64Array:
    return np.searchsorted(boundaries, at, side="right")
