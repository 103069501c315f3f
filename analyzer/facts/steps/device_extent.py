"""Where a device begins and ends each step: with the work that the step launched, not with the marks of the host."""

from __future__ import annotations

import numpy as np
import pandas as pd

from analyzer.facts.steps.index import position_of
from analyzer.spans.arrays import Int64Array


def device_extent(
    host_start: Int64Array, host_end: Int64Array, launches: pd.DataFrame, busy_until_ns: int
) -> tuple[Int64Array, Int64Array]:
    """Device-aware starts and ends: contiguous, each end the later of the host's and of the last work launched in the step.

    Args:
        host_start: Start of each step on the host, sorted, shape (n,).
        host_end: End of each step on the host, shape (n,).
        launches: Device work with its launch.
        busy_until_ns: When the device has done what was launched before the first step.
    """
    launch = launches["launch_start_ns"].to_numpy()
    step = position_of(launch, host_start, host_end)
    inside = step >= 0
    end = host_end.copy()
    np.maximum.at(end, step[inside], launches["end_ns"].to_numpy()[inside])
    end = np.maximum.accumulate(end)
    first = max(int(host_start[0]), busy_until_ns)
    # Work on another stream may outlast the whole step; then nobody can say what was whose.
    start = np.concatenate([[first if first < end[0] else host_start[0]], end[:-1]])
    return start, end
