"""How many weights are converted to another number format in each step, as autocast does: the way of their gradients tells it."""

from __future__ import annotations

import numpy as np

from analyzer.facts.steps.find import Steps
from analyzer.spans.labels import is_any, matching
from traces.reader.names.autograd import ACCUMULATES, OF_NODE
from traces.trace import Trace

_ADDED_UP = f"{OF_NODE}{ACCUMULATES}"
_CONVERTED = f"{OF_NODE}ToCopyBackward0"


def converted_weights_ratio(trace: Trace, steps: Steps) -> float | None:
    """Share of the gradients that a conversion gives back: theirs is the node before, on the same thread, which adds none up.

    None where no gradient is added up in the used steps.
    """
    ops = trace.ops
    nodes = matching(ops["name"], lambda name: name.startswith(OF_NODE)) & steps.window.contains(
        ops["start_ns"].to_numpy(np.int64)
    )
    rows = np.flatnonzero(nodes)
    added = is_any(ops["name"], _ADDED_UP)[rows]
    if not added.any():
        return None
    thread, start = ops["thread"].to_numpy()[rows], ops["start_ns"].to_numpy(np.int64)[rows]
    order = np.lexsort((start, thread))
    added, thread = added[order], thread[order]
    converted = is_any(ops["name"], _CONVERTED)[rows][order]
    follows = added[1:] & converted[:-1] & (thread[1:] == thread[:-1])
    return float(follows.sum() / added.sum())
