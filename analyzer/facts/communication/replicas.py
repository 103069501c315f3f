"""Passes of a model that one process copies to several devices (`torch.nn.DataParallel`)."""

from __future__ import annotations

from analyzer.spans.intervals import EMPTY, IntervalSet
from analyzer.spans.labels import matching
from traces.patterns import Pattern
from traces.trace import Trace

_FORWARD = Pattern(
    r"DataParallel\.forward|nn\.Module: DataParallel_\d+|.*torch/nn/parallel/data_parallel\.py\(\d+\): forward"
)


def replicated_passes(trace: Trace) -> IntervalSet:
    """When the wrapper's forward pass runs, by its range, its op or its frame of Python; empty where there is none."""
    found = EMPTY
    for frame in (trace.annotations, trace.ops, trace.python):
        found |= IntervalSet.of_rows(frame, matching(frame["name"], _FORWARD.match))
    return found
