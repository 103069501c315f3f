"""Device work that was launched before the first step: a host that runs ahead leaves a queue to the step after.

Where the recording begins in the middle of training, as a schedule makes it, the step before the first one is not in the trace, but
what it launched is: it would be taken for the first step's own, which then seems to last twice as long as the others. Only where
the device goes on from one to the other at once: where it waits for the host between them, the first step lasts as long as the
host takes.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pandas as pd

# What was queued runs when the recording begins, and what is queued behind it follows within microseconds. A device that is idle
# when the recording begins has nothing left to do, and kernels without a launch that come later have lost theirs.
_AT_ONCE_NS = 100_000


def left_over(work: pd.DataFrame, launched: pd.DataFrame, since_ns: int) -> npt.NDArray[np.bool_]:
    """Which device work the steps before launched, shape (work,): what ran before any work of a device's own.

    Args:
        work: From `launches.device_work`.
        launched: From `launches.launches`.
        since_ns: When the first step begins on the host.
    """
    own = np.zeros(len(work), dtype=bool)
    own[launched.index.to_numpy()[launched["launch_start_ns"].to_numpy() >= since_ns]] = True
    found = np.zeros(len(work), dtype=bool)
    device, start, end = (work[name].to_numpy() for name in ("device", "start_ns", "end_ns"))
    for one in np.unique(device[own]).tolist():
        first = start[own & (device == one)].min()
        before = (device == one) & (start < first)
        if not before.any():
            continue
        busy_at_once = start[before].min() <= since_ns + _AT_ONCE_NS
        if busy_at_once and first <= end[before].max() + _AT_ONCE_NS:
            found |= before
    return found
