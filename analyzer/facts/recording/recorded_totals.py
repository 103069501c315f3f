"""How long the events of a file last in all: as it states, and as every figure of the analysis counts them.

One corrupt duration is enough to make a file claim eleven days of work. It is set aside before any sum; what the file
claims is kept beside, so that a figure of another tool, which adds it up, can be understood.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import msgspec

from analyzer.spans.grouping import numbered
from analyzer.spans.intervals import IntervalSet
from analyzer.spans.labels import is_any
from traces.trace import Trace

if TYPE_CHECKING:
    import pandas as pd


RECORDING = "recording"
_STREAMS = ("kernels", "copies")
# What a report can hold of a sum of absurd durations: a signed 64-bit number.
_MOST = 2**63 - 1


class RecordedTotal(msgspec.Struct, frozen=True):
    """One sum in both ways.

    Args:
        events: Name of a frame, or `RECORDING` for the time from the first event to the last end.
        set_aside: Events of it that the reader set aside.
        raw_ns: As the file states: every duration added, absurd and overlapping ones too.
        cleaned_ns: Without what was set aside; time that several kernels or copies of one stream share counts once.
    """

    events: str
    set_aside: int
    raw_ns: int
    cleaned_ns: int


def recorded_totals(trace: Trace) -> tuple[RecordedTotal, ...]:
    """Every sum that differs between the file and the analysis; none for a sound file without overlaps on a stream."""
    return tuple(total for total in _totals(trace) if total.set_aside or total.raw_ns != total.cleaned_ns)


def _totals(trace: Trace) -> Iterator[RecordedTotal]:
    aside = trace.quarantined
    if len(aside):
        yield _recording(trace)
    for kind in sorted({*aside["kind"].astype(str).tolist(), *_STREAMS}):
        frame: pd.DataFrame = getattr(trace, kind)
        kept = int(frame["dur_ns"].sum())
        out = aside["dur_ns"].to_numpy()[is_any(aside["kind"], kind)].tolist() if len(aside) else []
        cleaned = _united(frame).total_ns if kind in _STREAMS else kept
        yield RecordedTotal(kind, len(out), _held(kept + sum(out)), cleaned)


def _recording(trace: Trace) -> RecordedTotal:
    aside = trace.quarantined
    # Python's numbers: the end of an absurd event need not fit 64 bits.
    starts, durations = aside["start_ns"].tolist(), aside["dur_ns"].tolist()
    frames = (trace.ops, trace.annotations, trace.runtime, trace.kernels, trace.copies, trace.steps, trace.python)
    end = max((int(frame["end_ns"].max()) for frame in frames if len(frame)), default=0)
    last = max(end, *(start + max(dur, 0) for start, dur in zip(starts, durations, strict=True)))
    return RecordedTotal(RECORDING, len(aside), _held(last - min(0, *starts)), end)


def _held(total_ns: int) -> int:
    return max(min(total_ns, _MOST), -_MOST)


def _united(frame: pd.DataFrame) -> IntervalSet:
    """The work of each stream, overlaps counted once; streams are moved apart in time, so that they do not meet."""
    if not len(frame):
        return IntervalSet()
    start, end = frame["start_ns"].to_numpy(), frame["end_ns"].to_numpy()
    device, _ = numbered(frame["device"].to_numpy())
    stream, streams = numbered(frame["stream"].to_numpy())
    apart = (device * streams + stream) * (int(end.max()) + 1)
    return IntervalSet(start + apart, end + apart)
