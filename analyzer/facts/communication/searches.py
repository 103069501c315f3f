"""What distributed training looks for beside sending: parameters without a gradient, and NaN in what is sent."""

from __future__ import annotations

from analyzer.facts.steps.find import Steps
from analyzer.spans.intervals import IntervalSet
from analyzer.spans.labels import matching
from traces.trace import Trace


def unused_parameter_search(trace: Trace, steps: Steps) -> IntervalSet:
    """Inside DDP's search for unused parameters, on any thread in the used steps."""
    search = IntervalSet()
    for frame in (trace.annotations, trace.ops):
        search |= IntervalSet.of_rows(frame, matching(frame["name"], lambda name: "search_unused_parameters" in name))
    return search & steps.window


def nan_checks_ns(trace: Trace, steps: Steps) -> int:
    """Device time in the used steps of kernels that look for NaN in what is sent (torch/csrc/distributed/c10d/NanCheck.cu)."""
    kernels = trace.kernels
    rows = matching(kernels["name"], lambda name: "checkForNaN" in name)
    start, end = (kernels[name].to_numpy()[rows] for name in ("start_ns", "end_ns"))
    return int(steps.window.overlap_with(start, end).sum())
