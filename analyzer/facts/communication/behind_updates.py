"""Whether a program sends behind its updates: averages of weights, as local SGD makes them, or metrics, and no gradients."""

from __future__ import annotations

import numpy as np
import pandas as pd

from analyzer.spans.labels import is_any, matching
from traces.reader.names.vocabulary import is_backward_node
from traces.trace import Trace

_FIRST = np.iinfo(np.int64).min


def behind_updates_ratio(trace: Trace, calls: pd.DataFrame) -> float:
    """Share of some collectives in front of which an update ended last, and no backward pass began since; 0 without any.

    Args:
        trace: The trace.
        calls: Column start_ns, one row per collective.
    """
    at = calls["start_ns"].to_numpy()
    if not len(at):
        return 0.0
    ops, ranges = trace.ops, trace.annotations
    nodes = np.sort(ops["start_ns"].to_numpy()[matching(ops["name"], is_backward_node)])
    updates = np.sort(ranges["end_ns"].to_numpy()[is_any(ranges["kind"], "optimizer_step")])
    node, update = (np.append(_FIRST, times)[np.searchsorted(times, at, side="right")] for times in (nodes, updates))
    return float((update > node).mean())
