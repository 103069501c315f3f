"""How often a step asks its model and reads the answer before it asks again, as a policy is asked for each move of a simulator."""

from __future__ import annotations

import numpy as np

from analyzer.facts.steps.find import Steps
from analyzer.spans.labels import is_any, matching
from traces.patterns import Pattern
from traces.trace import Trace

_LAYER = Pattern(r"aten::(?:linear|conv[123]d|embedding|lstm\w*|gru\w*)$")


def asked_in_turn(trace: Trace, steps: Steps) -> float:
    """How many values a step reads with layers of a model between each and the one before, mean over the used steps.

    Args:
        trace: The trace.
        steps: The steps.
    """
    ops = trace.ops
    start, thread = ops["start_ns"].to_numpy(), ops["thread"].to_numpy()
    used = steps.host_window.contains(start)
    layers = used & matching(ops["name"], lambda name: _LAYER.match(name) is not None)
    reads = used & is_any(ops["name"], "aten::item", "aten::is_nonzero")
    asked = 0
    for one in np.unique(thread[reads]):
        mine = thread == one
        run = np.searchsorted(np.sort(start[layers & mine]), np.sort(start[reads & mine]))
        asked += int((np.diff(run, prepend=0) > 0).sum())
    return asked / steps.count if steps.count else 0.0
