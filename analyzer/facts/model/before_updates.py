"""What lies between the backward pass and the update behind it: clipping, unscaling, sums of gradients; no program loads there."""

from __future__ import annotations

import numpy as np
import pandas as pd

from analyzer.spans.intervals import EMPTY, IntervalSet
from analyzer.spans.labels import matching
from traces.reader.names.vocabulary import is_backward_node
from traces.trace import Trace


def before_updates(trace: Trace, spans: pd.DataFrame) -> IntervalSet:
    """Host time from the end of the last node of each backward pass to the end of the optimizer's step behind it.

    Args:
        trace: The trace.
        spans: Steps of the optimizer.
    """
    ends = np.sort(trace.ops["end_ns"].to_numpy()[matching(trace.ops["name"], is_backward_node)])
    order = np.argsort(spans["start_ns"].to_numpy(), kind="stable")
    start, end = spans["start_ns"].to_numpy()[order], spans["end_ns"].to_numpy()[order]
    if not len(ends) or not len(start):
        return EMPTY
    last = np.searchsorted(ends, start, side="right") - 1
    since = ends[np.maximum(last, 0)]
    # Another update in between: what is before this one is behind that one.
    since = np.maximum(since, np.append(np.iinfo(np.int64).min, end[:-1]))
    known = last >= 0
    return IntervalSet(since[known], end[known])
