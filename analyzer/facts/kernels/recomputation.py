"""Activations that the backward pass computes again, as `torch.utils.checkpoint` does to save memory.

Gradients are computed with recording off: ops inside a backward node carry no sequence number of their own. What is computed again
is recorded, because gradients will be taken through it. A backward pass that is itself differentiated records all of its ops, too;
it calls no op that stands for a layer's forward pass, though.
"""

from __future__ import annotations

import msgspec
import numpy as np

from analyzer.facts.host.ops import pick_row
from analyzer.facts.host.section import HostFacts
from analyzer.facts.kernels.find import Kernels
from analyzer.facts.steps.find import Steps
from analyzer.spans.arrays import BoolArray
from analyzer.spans.columns import present
from analyzer.spans.intervals import IntervalSet
from analyzer.spans.open_spans import NONE
from traces.reader.names.vocabulary import is_backward_node

# Only a forward pass calls these.
FORWARD = frozenset((
    "aten::linear", "aten::conv1d", "aten::conv2d", "aten::conv3d", "aten::scaled_dot_product_attention", "aten::layer_norm",
    "aten::rms_norm", "aten::group_norm", "aten::batch_norm", "aten::gelu", "aten::silu", "aten::relu", "aten::softmax",
    "aten::dropout", "aten::matmul", "aten::embedding",
))  # fmt: skip


class Recomputation(msgspec.Struct, frozen=True, eq=False):
    """What is computed twice.

    Args:
        ops: Ops that are, shape (ops,).
        spans: When their kernels run in the used steps; the ops themselves where no device was recorded.
        unclear: Whether forward ops run inside the backward pass of which nothing tells why: a backward of the user's own.
    """

    ops: BoolArray
    spans: IntervalSet
    unclear: bool


def recomputation(host: HostFacts, kernels: Kernels, steps: Steps, *, on_device: bool) -> Recomputation:
    """Finds ops of the forward pass inside nodes of the backward pass.

    Args:
        host: Ops.
        kernels: Kernels of the used steps.
        steps: The steps.
        on_device: Whether device work was recorded.
    """
    tree = host.ops
    ops = tree.ops
    node = tree.named(is_backward_node)
    nearest = tree.nearest(node)
    inside = (nearest != NONE) & ~node
    recorded = inside & present(ops["sequence"])
    forward = inside & tree.named(FORWARD.__contains__)
    # The node whose pass computes again: the nearest one around a recorded forward op.
    again = np.zeros(len(node), dtype=bool)
    again[nearest[forward & recorded]] = True
    seeds = recorded & pick_row(again.astype(np.int64), nearest).astype(bool)
    seed = tree.nearest(seeds)
    # Gradients of what was computed again, taken inside the same node, are gradients.
    mine = (seed != NONE) & ~_below_inner_node(nearest, seed, tree.depth)
    unclear = bool((forward & ~mine & ~recorded).any())
    if on_device:
        owner = kernels.frame["op"].to_numpy()
        spans = kernels.spans(np.append(mine, False)[owner])
    else:
        top = tree.outermost(mine)
        spans = IntervalSet(ops["start_ns"].to_numpy()[top], ops["end_ns"].to_numpy()[top]) & steps.host_window
    return Recomputation(mine, spans, unclear)


def _below_inner_node(node: object, seed: object, depth: object) -> BoolArray:
    """Rows whose nearest backward node is further inside than their nearest seed."""
    nodes, seeds, depths = np.asarray(node), np.asarray(seed), np.asarray(depth)
    known = (nodes != NONE) & (seeds != NONE)
    found: BoolArray = known & (np.append(depths, 0)[nodes] > np.append(depths, 0)[seeds])
    return found
