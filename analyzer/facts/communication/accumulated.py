"""How often FSDP2 reduces the gradients of one module in a step: for each micro-batch, unless it is told to do so for the last."""

from __future__ import annotations

import numpy as np
import pandas as pd

from analyzer.facts.steps.find import Steps
from analyzer.spans.labels import matching
from traces.patterns import Pattern
from traces.trace import Trace

# `FSDPParamGroup.post_backward` leaves it around each reduce-scatter, with the path of the module (torch/distributed/fsdp/
# _fully_shard/_fsdp_param_group.py).
_REDUCED = Pattern(r"FSDP::post_backward_reduce \(.+\)$")


def reductions_a_step(trace: Trace, steps: Steps) -> int:
    """Reductions of the gradients of one module in a used step, median over modules and steps; 0 where FSDP2 shows none.

    Args:
        trace: The trace.
        steps: The steps.
    """
    ranges = trace.annotations
    ranges = ranges[matching(ranges["name"], _REDUCED.match)]
    step = steps.of_host(ranges["start_ns"].to_numpy())
    inside = step >= 0
    if not inside.any():
        return 0
    counts = (
        pd.Series(1, index=step[inside]).groupby([step[inside], ranges["name"].astype("str").to_numpy()[inside]]).sum()
    )
    return int(np.median(counts.to_numpy()))
