"""Where the state of a model is taken: as many tensors are detached in a row as the model has, and what follows is no op.

`Module.state_dict()` detaches each parameter and each buffer, and calls nothing between. What is done with the state then, such as
writing it to a file, is no op either, while an average of weights or a loss goes on with ops at once.
"""

from __future__ import annotations

import numpy as np

from analyzer.facts.host.ops import OpTree
from analyzer.facts.host.outermost import Outermost
from analyzer.facts.steps.find import Steps
from analyzer.spans.intervals import EMPTY, IntervalSet
from analyzer.spans.labels import matching
from analyzer.spans.stretches import stretches
from traces.reader.names.vocabulary import accumulates_gradient, is_backward_node

# What takes a tensor, or makes an array of it, and computes nothing (`Tensor.numpy` resolves the lazy bits first).
_DETACHES = "aten::detach"
_TAKES = frozenset({_DETACHES, "aten::resolve_conj", "aten::resolve_neg"})
# What autograd calls between nodes of a pass, where a tensor is used twice (inside of a node in newer versions).
_ADDS_UP = frozenset({"aten::add", "aten::add_"})
# A model of fewer tensors is not told from a handful of values that a program detaches for its log.
MIN_TENSORS = 4


def trained_tensors(ops: OpTree, steps: Steps, spans: Outermost) -> int:
    """How many tensors receive a gradient in one backward pass, the largest; 0 where no trace of it is recorded.

    Args:
        ops: All ops; torch 1.8 nests each in itself.
        steps: The steps.
        spans: What the training thread does: whatever the program calls there ends a pass.
    """
    start = ops.ops["start_ns"].to_numpy()
    at = start[ops.outermost(matching(ops.ops["name"], accumulates_gradient)) & steps.host_window.contains(start)]
    if not len(at):
        return 0
    others = np.array([not is_backward_node(name) and name not in _ADDS_UP for name in spans.names], dtype=bool)
    passes = np.searchsorted(spans.start_ns[others[spans.code]], at)
    return int(np.unique(passes, return_counts=True)[1].max())


def behind_state(least: int, steps: Steps, spans: Outermost) -> IntervalSet:
    """From the last tensor of a state to what comes next on the thread, whatever that is.

    Args:
        least: How many tensors receive a gradient, from `trained_tensors`.
        steps: The steps.
        spans: What the training thread does.
    """
    if least < MIN_TENSORS or _DETACHES not in spans.names:
        return EMPTY
    takes = np.array([name in _TAKES for name in spans.names], dtype=bool)[spans.code]
    first, end = stretches(takes)
    detached = np.concatenate([[0], np.cumsum(spans.code == spans.names.index(_DETACHES))])
    # Of what the recording ends with nobody knows what comes next.
    whole = (detached[end] - detached[first] >= least) & (end < len(spans))
    first, end = first[whole], end[whole]
    return IntervalSet(spans.end_ns[end - 1], spans.start_ns[end]) & steps.window
