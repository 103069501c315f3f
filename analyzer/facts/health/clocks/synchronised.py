"""Waits for a stream that begin, by the device's own account, while the stream still runs a kernel.

torch's own `_trace_validator` (2.15) checks the same: the event of such a wait stands where the stream has become empty.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from analyzer.facts.health.symptom import Gravity, Symptom
from analyzer.spans.grouping import chosen
from analyzer.spans.labels import is_any
from analyzer.units import share
from traces.trace import Trace

_NAMES = ("Stream Sync", "Stream Synchronize")
# Of such events; a few at the borders of buffers are no reason.
_INSIDE_RATIO = 0.05
_ROUNDING_NS = 1_000
_MIN_EVENTS = 3


def check(trace: Trace) -> Iterator[Symptom]:
    """Waits for a stream inside a kernel of that stream."""
    waits = chosen(trace.syncs, is_any(trace.syncs["name"], *_NAMES))
    if not len(waits) or not len(trace.kernels):
        return
    inside = 0
    kernels = trace.kernels
    for (device, stream), mine in waits.groupby(["device", "stream"], sort=False):
        own = ((kernels["device"] == device) & (kernels["stream"] == stream)).to_numpy(dtype=bool)
        start, end = kernels["start_ns"].to_numpy()[own], kernels["end_ns"].to_numpy()[own]
        at = mine["start_ns"].to_numpy()
        place = np.searchsorted(start, at, side="left") - 1
        running = (place >= 0) & (np.append(end, 0)[place] > at + _ROUNDING_NS)
        inside += int(running.sum())
    if inside >= _MIN_EVENTS and inside >= _INSIDE_RATIO * len(waits):
        yield Symptom(
            "PG007",
            Gravity.NOTE,
            f"{inside:,} of {len(waits):,} waits for a stream ({share(inside / len(waits))}) begin while it still runs a kernel: "
            "their times say nothing of when the stream became empty.",
            None,
            inside,
            touches=(),
        )
