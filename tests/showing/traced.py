"""What a page shows of the trace itself, made by hand: lanes, operators, memory."""

from __future__ import annotations

import msgspec
import numpy as np

from analyzer.cause_names import CAUSES
from analyzer.report.from_trace import FromTrace
from analyzer.views.memory_curve import Allocator, MemoryCurve
from analyzer.views.operator_rows import OperatorRow
from analyzer.views.slim_lanes import SlimLanes, SlimTrack
from analyzer.views.step_lanes import StepLanes
from analyzer.views.tracks import Track
from showing import analyses

WHOLE = analyses.example().timeline.dur_ns


def lanes_of(names, detail=""):
    """A step of one lane: an event of 10 ms of each name, one after the other."""
    count = len(names)
    track = SlimTrack(
        "main thread",
        "host",
        0,
        [place * 10_000_000 for place in range(count)],
        [10_000_000] * count,
        list(range(count)),
        [0] * count,
        [0] * count,
    )
    return FromTrace(lanes=msgspec.json.encode(SlimLanes(6, WHOLE, list(names), CAUSES, [detail], [track], 0, 0)))


def many_events(count):
    """The step with so many events of distinct lengths: ops on the host, launching kernels that are longer, of 50 names."""
    at = np.linspace(0, WHOLE, count // 2, endpoint=False).astype(np.int64)
    none, named = np.zeros(len(at), np.int64), np.arange(len(at)) % 50
    names = tuple(f"op {number}" for number in range(50))
    longer = np.arange(len(at)) * (WHOLE // len(at) // 3) // len(at)

    def lane(name, kind, dur):
        return Track(name, kind, 0, at, at + dur, named, none, names, none, ("launched by linear, 64x128",))

    ops, kernels = lane("main thread", "host", longer // 2 + 1), lane("stream 7", "device", longer + longer.max() // 2)
    return StepLanes(analyses.example().timeline.step, 0, WHOLE, (ops, kernels), (), 0)


def operator(name, device_ns, calls=1.0):
    return OperatorRow(name, "", calls, 1_000, 2_000, device_ns, device_ns, 0.1, None)


def curve(name="aten::empty", **changed):
    """Memory of a device that rises to 3 MiB in step 6."""
    allocators = (Allocator(name, 3 << 20, 2.0, 2 << 20, "[[8, 8]]"),)
    made = MemoryCurve(
        "GPU 0",
        0,
        9_000_000,
        (0, 1 << 20, 3 << 20, 0),
        (4 << 20,) * 4,
        3 << 20,
        6,
        False,
        (5, 6),
        (0, 4_000_000),
        allocators,
    )
    return msgspec.structs.replace(made, **changed)
