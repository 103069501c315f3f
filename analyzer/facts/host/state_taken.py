"""Where the state of a model is taken: as many tensors are detached in a row as the model has, and what follows is no op.

`Module.state_dict()` detaches each parameter and each buffer, and calls nothing between. What is done with the state then, such as
writing it to a file, is no op either, while an average of weights or a loss goes on with ops at once.
"""

from __future__ import annotations

import numpy as np

from analyzer.facts.host.outermost import Outermost
from analyzer.facts.steps.find import Steps
from analyzer.spans.intervals import EMPTY, IntervalSet
from analyzer.spans.labels import matching
from traces.reader.names.vocabulary import accumulates_gradient
from traces.trace import Trace

# What takes a tensor, or makes an array of it, and computes nothing (`Tensor.numpy` resolves the lazy bits first).
_DETACHES = "aten::detach"
_TAKES = frozenset({_DETACHES, "aten::resolve_conj", "aten::resolve_neg"})
# A model of fewer tensors is not told from a handful of values that a program detaches for its log.
_MIN_TENSORS = 4


def trained_tensors(trace: Trace, steps: Steps) -> int:
    """How many tensors receive a gradient in a step; one counts as often as it does. 0 where no trace of it is recorded."""
    received = matching(trace.ops["name"], accumulates_gradient)
    received &= steps.host_window.contains(trace.ops["start_ns"].to_numpy())
    return round(np.count_nonzero(received) / steps.count) if steps.count else 0


def behind_state(trace: Trace, steps: Steps, spans: Outermost) -> IntervalSet:
    """From the last tensor of a state to what comes next on the thread, whatever that is.

    Args:
        trace: The trace.
        steps: The steps.
        spans: What the training thread does.
    """
    least = trained_tensors(trace, steps)
    if least < _MIN_TENSORS or _DETACHES not in spans.names:
        return EMPTY
    takes = np.array([name in _TAKES for name in spans.names], dtype=bool)[spans.code]
    edges = np.diff(takes.astype(np.int8), prepend=0, append=0)
    first, end = np.flatnonzero(edges > 0), np.flatnonzero(edges < 0)
    detached = np.concatenate([[0], np.cumsum(spans.code == spans.names.index(_DETACHES))])
    # Of what the recording ends with nobody knows what comes next.
    whole = (detached[end] - detached[first] >= least) & (end < len(spans))
    first, end = first[whole], end[whole]
    return IntervalSet(spans.end_ns[end - 1], spans.start_ns[end]) & steps.window
