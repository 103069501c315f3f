"""What each step does behind its last backward pass: clipping, the update, averages of weights, logs; nothing of the model."""

from __future__ import annotations

import numpy as np

from analyzer.facts.steps.find import Steps
from analyzer.spans.intervals import IntervalSet
from analyzer.spans.labels import matching
from traces.reader.names.vocabulary import is_backward_node
from traces.trace import Trace


def behind_passes(trace: Trace, steps: Steps) -> IntervalSet:
    """Host time of each used step from the end of its last backward node on; steps without a backward pass have none.

    Args:
        trace: The trace.
        steps: The steps.
    """
    node = matching(trace.ops["name"], is_backward_node)
    at = steps.of_host(trace.ops["start_ns"].to_numpy()[node])
    ends = trace.ops["end_ns"].to_numpy()[node]
    until = steps.used["host_end_ns"].to_numpy()
    last = np.full(len(until), np.iinfo(np.int64).min)
    np.maximum.at(last, at[at >= 0], ends[at >= 0])
    known = (last < until) & np.isin(np.arange(len(until)), at)
    return IntervalSet(last[known], until[known])
