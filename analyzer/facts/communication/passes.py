"""When layers of a forward pass and nodes of a backward pass begin: by that it is told where in a step a collective is called."""

from __future__ import annotations

import numpy as np

from analyzer.facts.host.ops import OpTree
from analyzer.facts.loops.find import LAYER
from analyzer.spans.arrays import Int64Array
from traces.reader.names.vocabulary import is_backward_node


def layers_ns(tree: OpTree) -> Int64Array:
    """Starts of layers, sorted; what a node of the backward pass computes again is none."""
    layers = tree.named(lambda name: LAYER.match(name) is not None) & ~tree.under(tree.named(is_backward_node))
    return np.sort(tree.ops["start_ns"].to_numpy()[layers])


def nodes_ns(tree: OpTree) -> Int64Array:
    """Starts of nodes of the backward pass, sorted."""
    return np.sort(tree.ops["start_ns"].to_numpy()[tree.named(is_backward_node)])
