"""Gathers of parameters that wait for a reduce-scatter: one communicator sends one collective at a time, whatever the streams.

In the backward pass of a sharded model the next layer waits for its parameters, which wait for the gradients of the layer before.
Where a kernel lies between the two, the gather may need what that computes, as of activations that are split over ranks.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from analyzer.facts.communication.kernel_kinds import kind_of_kernel
from analyzer.spans.arrays import BoolArray
from analyzer.spans.columns import present
from analyzer.spans.intervals import EMPTY, IntervalSet
from analyzer.spans.labels import matching
from analyzer.spans.moments import moments_in

# A collective that waited for another one starts as soon as that has ended: some microseconds later.
_NEXT_NS = 30_000
# One launched so long before that end was kept waiting.
_WAITED_NS = 50_000


def gathers_behind_sums(kernels: pd.DataFrame, exposed: IntervalSet) -> IntervalSet:
    """What nothing hides of gathers that waited for a reduce-scatter, and of those they waited for.

    Args:
        kernels: `Kernels.frame`.
        exposed: When nothing runs beside collectives.
    """
    frame = kernels[kernels["collective"].to_numpy() & present(kernels["launch_start_ns"])]
    gathers, sums = _of(frame, "all_gather"), _of(frame, "reduce_scatter")
    if not gathers.any() or not sums.any():
        return EMPTY
    start, end = frame["start_ns"].to_numpy(), frame["end_ns"].to_numpy()
    launched = frame["launch_start_ns"].to_numpy()
    order = np.argsort(end[sums], kind="stable")
    sums_start, sums_end = start[sums][order], end[sums][order]
    before = np.searchsorted(sums_end, start[gathers], side="right") - 1
    last = sums_end[np.maximum(before, 0)]
    others = kernels[~kernels["collective"].to_numpy()]
    between = moments_in(others["start_ns"].to_numpy(), last, start[gathers]) > 0
    waited = (before >= 0) & ~between & (start[gathers] - last <= _NEXT_NS) & (last - launched[gathers] >= _WAITED_NS)
    for_them = before[waited]
    spans = IntervalSet(start[gathers][waited], end[gathers][waited]) | IntervalSet(
        sums_start[for_them], sums_end[for_them]
    )
    return exposed & spans


def _of(frame: pd.DataFrame, kind: str) -> BoolArray:
    return matching(frame["name"], lambda name: kind_of_kernel(name) == kind)
