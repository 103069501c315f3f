"""What the first step after a start of workers takes beyond others: the memory that they share is copied when it is written to.

A forked worker shares all pages with the process that trains until one of the two writes to them. The first step after a start
writes to every weight and buffer: measured, an optimizer that takes 0.2 ms elsewhere then takes 2 ms, and the step 5 ms more.
"""

from __future__ import annotations

import numpy as np

from analyzer.facts.device.section import DeviceFacts
from analyzer.facts.host.restarts import Restarts
from analyzer.facts.steps.find import Steps
from analyzer.facts.time.section import TimeFacts
from analyzer.spans.intervals import EMPTY, IntervalSet

# Below this the median of the other steps is no usual one.
_LEAST_OTHERS = 3


def first_writes(device: DeviceFacts, steps: Steps, time: TimeFacts, restarts: Restarts) -> IntervalSet:
    """Time in ops between the first batch of a start and the end of its step, beyond what ops take in the other used steps.

    Args:
        device: Work of the devices.
        steps: The steps.
        time: Whose each nanosecond is.
        restarts: Those that begin in the used steps.

    Returns:
        Nothing where a device does the work, which writes to memory of its own, or too few steps lack a start.
    """
    used = steps.used
    begin, end = used["start_ns"].to_numpy(), used["end_ns"].to_numpy()
    if device.main is not None or not len(restarts) or not len(begin):
        return EMPTY
    from_ns = begin.copy()
    step = np.maximum(np.searchsorted(begin, restarts.first[:, 0], side="right") - 1, 0)
    np.maximum.at(from_ns, step, restarts.first[:, 1])
    ops = time.waterfall.owned("compute") | time.waterfall.owned("optimizer")
    taken = ops.overlap_with(from_ns, end)
    starting = np.isin(np.arange(len(begin)), step)
    if (~starting).sum() < _LEAST_OTHERS:
        return EMPTY
    beyond = np.clip(1 - np.median(taken[~starting]) / np.maximum(taken, 1), 0.0, None)
    mine = ops & IntervalSet(from_ns[starting], end[starting])
    at = np.searchsorted(begin, mine.start_ns, side="right") - 1
    return IntervalSet(mine.start_ns, mine.start_ns + ((mine.end_ns - mine.start_ns) * beyond[at]).astype(np.int64))
