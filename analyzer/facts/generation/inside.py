"""When a pass of an engine is on its way: from the first work of the device that begins in its range to the last one's end."""

from __future__ import annotations

import numpy as np

from analyzer.facts.device.activity import DeviceActivity
from analyzer.facts.recording.said_passes import said_pass
from analyzer.spans.intervals import EMPTY, IntervalSet
from analyzer.spans.labels import matching
from traces.trace import Trace


def inside_passes(trace: Trace, device: DeviceActivity | None) -> IntervalSet:
    """What lies between two pieces of work of one pass: no schedule of the next one lies there.

    Args:
        trace: The trace.
        device: The device that stands for it; None without one.
    """
    ranges = trace.annotations
    rows = ranges[matching(ranges["name"], _counted)]
    if device is None or not len(rows) or not device.busy:
        return EMPTY
    begin, end = rows["start_ns"].to_numpy(dtype=np.int64), rows["end_ns"].to_numpy(dtype=np.int64)
    starts, ends = device.busy.start_ns, device.busy.end_ns
    first = np.searchsorted(starts, begin, side="left")
    last = np.searchsorted(starts, end, side="left") - 1
    has = last >= first
    return IntervalSet(starts[first[has]], ends[last[has]])


def _counted(name: str) -> bool:
    said = said_pass(name)
    return said is not None and said.counted
