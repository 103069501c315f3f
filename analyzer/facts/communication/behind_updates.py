"""Whether a program sends behind its updates: averages of weights, as local SGD makes them, or metrics, and no gradients."""

from __future__ import annotations

import numpy as np
import pandas as pd

from analyzer.facts.communication.passes import nodes_ns
from analyzer.facts.host.ops import OpTree
from analyzer.spans.labels import is_any
from analyzer.spans.moments import last_before
from traces.trace import Trace


def behind_updates_ratio(trace: Trace, tree: OpTree, calls: pd.DataFrame) -> float:
    """Share of some collectives in front of which an update ended last, and no backward pass began since; 0 without any.

    Args:
        trace: The trace.
        tree: Which op encloses which.
        calls: Column start_ns, one row per collective.
    """
    at = calls["start_ns"].to_numpy()
    if not len(at):
        return 0.0
    ranges = trace.annotations
    updates = np.sort(ranges["end_ns"].to_numpy()[is_any(ranges["kind"], "optimizer_step")])
    return float((last_before(updates, at, "right") > last_before(nodes_ns(tree), at, "right")).mean())
