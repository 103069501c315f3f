"""Forward passes of which no gradient is taken beside one that is trained: a frozen encoder, a teacher, a reference model.

An op gets a sequence number where autograd records, and each op that is recorded for the backward pass takes one. Under
`torch.no_grad()` ops carry none; where no weight wants a gradient the next op carries the same number.
"""

from __future__ import annotations

import numpy as np

from analyzer.facts.host.section import HostFacts
from analyzer.facts.kernels.find import Kernels
from analyzer.facts.kernels.recomputation import FORWARD
from analyzer.spans.intervals import EMPTY, IntervalSet
from analyzer.spans.open_spans import NONE
from traces.reader.names.vocabulary import is_backward_node

# Of the layers' ops so many have to be recorded for a backward pass, for numbers to tell anything.
_RECORDED_RATIO = 0.05
_FEWEST = 4


def without_gradients(host: HostFacts, kernels: Kernels) -> IntervalSet:
    """When kernels run that belong to layers of which no gradient is taken; empty where nothing shows to be trained.

    Args:
        host: Ops.
        kernels: Kernels of the used steps.
    """
    tree = host.ops
    ops = tree.ops
    node = tree.named(is_backward_node)
    layers = tree.named(FORWARD.__contains__) & (tree.nearest(node) == NONE)
    top = np.flatnonzero(tree.outermost(layers) & (ops["thread"].to_numpy() == host.main_thread))
    if not len(top) or not node.any():
        return EMPTY
    top = top[np.argsort(ops["start_ns"].to_numpy()[top], kind="stable")]
    number = ops["sequence"].to_numpy(dtype=np.int64, na_value=-1)[top]
    taken = (number >= 0) & (np.append(number[1:], np.iinfo(np.int64).max) != number)
    if taken.sum() < max(_FEWEST, _RECORDED_RATIO * len(top)):
        return EMPTY
    seeds = np.zeros(len(ops), dtype=bool)
    seeds[top[~taken]] = True
    mine = tree.nearest(seeds) != NONE
    return kernels.spans(np.append(mine, False)[kernels.frame["op"].to_numpy()])
