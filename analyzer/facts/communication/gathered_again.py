"""Parameters that FSDP gathers a second time for the backward pass, because it let go of them behind the forward pass."""

from __future__ import annotations

import pandas as pd

from analyzer.facts.steps.find import Steps
from analyzer.spans.intervals import IntervalSet
from analyzer.spans.labels import matching
from traces.patterns import Pattern
from traces.trace import Trace

# Ranges in which a backward pass gathers: FSDP1's (torch/distributed/fsdp/_runtime_utils.py), then those of `fully_shard`
# (torch/distributed/fsdp/_fully_shard/_fsdp_param_group.py).
_BEHIND_FORWARD = Pattern(
    r"FullyShardedDataParallel\._(?:pre_backward_hook|pre_backward_prefetch|post_backward_prefetch)"
    r"|FSDP::(?:pre_backward|backward_prefetch)\b"
)


def gathered_again(trace: Trace, steps: Steps, calls: pd.DataFrame) -> pd.DataFrame:
    """The gathers among some calls that a backward pass of FSDP makes, in the used steps.

    Args:
        trace: The trace.
        steps: The steps.
        calls: The collectives, as `Collectives.calls` has them.
    """
    ranges = trace.annotations
    backward = IntervalSet.of_rows(ranges, matching(ranges["name"], _BEHIND_FORWARD.match)) & steps.host_window
    gathers = calls["kind"].astype("str").str.contains("gather").to_numpy(dtype=bool)
    return calls[gathers & backward.contains(calls["start_ns"].to_numpy("int64"))]
