"""What a page shows of the trace itself, made by hand: lanes, operators, memory."""

from __future__ import annotations

import msgspec

from analyzer.cause_names import CAUSES
from analyzer.report.from_trace import FromTrace
from analyzer.views.memory_curve import Allocator, MemoryCurve
from analyzer.views.operator_rows import OperatorRow
from analyzer.views.slim_lanes import SlimLanes, SlimTrack
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
