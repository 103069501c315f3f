"""What DistributedDataParallel does before each forward pass to keep the model's buffers alike: it sends those of rank 0 to all.

A model with batch normalisation has three buffers a layer. They are flattened into one tensor for each number format, broadcast,
cut apart and copied back one by one, and the forward pass begins only after that.
"""

from __future__ import annotations

import re

import numpy as np

from analyzer.facts.host.section import HostFacts
from analyzer.spans.intervals import EMPTY, IntervalSet
from analyzer.spans.labels import is_any, matching
from traces.ordering import outer_first
from traces.trace import Trace

_FORWARD = "DistributedDataParallel.forward"
_BROADCAST = r"(?:c10d|nccl|rccl|gloo):+_?broadcast"
# The outermost ops of the exchange; the first other one is the model's, or moves its input.
_EXCHANGE = r"aten::(?:un)?flatten_dense_tensors$|aten::(?:_foreach_)?copy_$"


def buffer_broadcasts(trace: Trace, host: HostFacts) -> IntervalSet:
    """When the training thread keeps the buffers of the ranks alike, from the start of a forward pass to the model's first op.

    Args:
        trace: The trace.
        host: What the threads of the host do.
    """
    ranges, ops, main = trace.annotations, trace.ops, host.main_thread
    passes = is_any(ranges["name"], _FORWARD) & (ranges["thread"].to_numpy() == main)
    mine = ops["thread"].to_numpy() == main
    if not passes.any() or not mine.any():
        return EMPTY
    start, end = ops["start_ns"].to_numpy()[mine], ops["end_ns"].to_numpy()[mine]
    model = ~matching(ops["name"], re.compile(_EXCHANGE).match)[mine]
    order = outer_first(start, end)
    start, end, model = start[order], np.maximum.accumulate(end[order]), model[order]
    outermost = start >= np.concatenate([[np.iinfo(np.int64).min], end[:-1]])
    others = start[outermost & model]
    calls = trace.collectives
    broadcast = matching(calls["name"], re.compile(_BROADCAST).match) & (calls["thread"].to_numpy() == main)
    sent = np.sort(calls["start_ns"].to_numpy()[broadcast])
    begin, until = ranges["start_ns"].to_numpy()[passes], ranges["end_ns"].to_numpy()[passes]
    following = np.append(others, np.iinfo(np.int64).max)[np.searchsorted(others, begin, side="left")]
    until = np.minimum(until, following)
    sends = np.searchsorted(sent, until, side="left") > np.searchsorted(sent, begin, side="left")
    return IntervalSet(begin[sends], until[sends])
