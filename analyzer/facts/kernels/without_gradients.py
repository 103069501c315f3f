"""Forward passes of which no gradient is taken beside one that is trained: a frozen encoder, a teacher, a reference model."""

from __future__ import annotations

import numpy as np

from analyzer.facts.host.section import HostFacts
from analyzer.facts.kernels.find import Kernels
from analyzer.facts.kernels.recorded_layers import outer_layers
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
    top, taken = outer_layers(host)
    if not len(top) or not tree.named(is_backward_node).any():
        return EMPTY
    if taken.sum() < max(_FEWEST, _RECORDED_RATIO * len(top)):
        return EMPTY
    seeds = np.zeros(len(tree.ops), dtype=bool)
    seeds[top[~taken]] = True
    mine = tree.nearest(seeds) != NONE
    return kernels.spans(np.append(mine, False)[kernels.frame["op"].to_numpy()])
