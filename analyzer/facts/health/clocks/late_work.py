"""PG008 device work that goes on when it cannot: behind a call that waited for its end, or while its stream is at later work."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from analyzer.cause_names import IDLE_CAUSES
from analyzer.facts.device.launches import by_kernel_launch
from analyzer.facts.device.section import DeviceFacts
from analyzer.facts.health.symptom import Gravity, Symptom
from analyzer.facts.steps.find import Steps
from analyzer.spans.arrays import BoolArray, Int64Array
from analyzer.spans.grouping import numbered, rows_by
from analyzer.spans.intervals import IntervalSet
from analyzer.spans.labels import is_any
from analyzer.units import count, duration
from traces.trace import Trace

if TYPE_CHECKING:
    import pandas as pd


# Calls that return when all work launched before them, on whatever stream of the device, has ended.
_WAIT_FOR_ALL = frozenset({"cudaDeviceSynchronize", "cudaCtxSynchronize", "cuCtxSynchronize", "hipDeviceSynchronize"})
# In recorded traces the last work ends 5 us or more before such a call returns; so much the other way is no rounding.
_ROUNDING_NS = 10_000
# Work on a stream runs in order, apart from small overlaps. What runs beside so many later kernels of its stream, and takes so
# many times as long as they do, has a wrong duration: one alone the reader sets aside, of many it cannot say which are wrong.
_SUCCESSORS = 16
_LONGER = 20
# How many times the time that passes the work of one stream takes together: 1.00 in all recorded traces. What hardware overlaps
# (programmatic dependent launch) adds little; from here on the busy time is made of wrong durations.
_AT_ONCE = 2.0
# Work that goes on behind a call that waited for it: so many pieces are no single wrong duration, but another clock. Causes of idle
# time rest on both clocks; off by such a share of a step they are worthless.
_MIN_LATE = 5
_LATE_RATIO = 0.1

_AGAIN = "record again; if it stays, report it to the maker of the profiler's driver"


def check(trace: Trace, device: DeviceFacts, steps: Steps) -> Iterator[Symptom]:
    """Clocks that disagree, and durations that do."""
    yield from _after_waiting(trace, device, steps)
    yield from _wrong_durations(device, steps)


def _after_waiting(trace: Trace, device: DeviceFacts, steps: Steps) -> Iterator[Symptom]:
    """Work that ends after a call has waited for it. With several devices a call waits for one of them: nothing is said."""
    work, calls = device.launched, trace.runtime
    waits = is_any(calls["name"], *_WAIT_FOR_ALL)
    if not len(work) or not waits.any() or len(np.unique(work["device"].to_numpy())) > 1:
        return
    launched = work["launch_start_ns"].to_numpy()
    order = np.argsort(launched, kind="stable")
    latest = np.maximum.accumulate(work["end_ns"].to_numpy()[order])
    begins_ns, ends_ns = (calls[name].to_numpy()[waits] for name in ("start_ns", "end_ns"))
    before = np.searchsorted(launched[order], begins_ns) - 1
    late = np.where(before >= 0, latest[before] - ends_ns, 0)
    worst = int(np.argmax(late))
    if late[worst] > _ROUNDING_NS:
        behind = (launched < begins_ns[worst]) & (work["end_ns"].to_numpy() > ends_ns[worst] + _ROUNDING_NS)
        grave = behind.sum() >= _MIN_LATE and late[worst] * steps.count >= _LATE_RATIO * steps.total_ns
        late = late[late > _ROUNDING_NS]
        yield Symptom(
            "PG008",
            Gravity.UNUSABLE if grave else Gravity.CAUTION,
            f"Work goes on for up to {duration(int(late.max()))} after {count(len(late), 'call')} that waited for its end: the "
            "clocks of host and device disagree.",
            "record again; if it persists, update torch and the driver",
            len(late),
            touches=IDLE_CAUSES,
        )


def _wrong_durations(device: DeviceFacts, steps: Steps) -> Iterator[Symptom]:
    """Streams that do more than one thing at a time. Branches of a graph may share a stream: those are not looked at."""
    launched = device.launched
    single = ~(launched["shared"].to_numpy() | is_any(launched["launch_kind"], "graph_launch"))
    times = int(launched["dur_ns"].to_numpy()[single].sum())
    streams = _by_stream(launched, single)
    # What is alone in its stream takes as long as passes: a file of a hundred thousand streams is asked about none of those.
    several = [(start, dur) for start, dur in streams if len(start) > 1]
    passed = times - sum(int(dur.sum()) - IntervalSet(start, start + dur).total_ns for start, dur in several)
    if times >= _AT_ONCE * passed > 0:
        yield Symptom(
            "PG008",
            Gravity.UNUSABLE,
            f"The work of a stream runs one after the other, yet takes {times / passed:.1f} times as long as passes meanwhile: its "
            "durations are wrong.",
            _AGAIN,
            int(single.sum()),
        )
        return
    found = np.concatenate(
        [np.empty(0, dtype=np.int64), *(_crossing(*one) for one in _by_stream(launched, by_kernel_launch(launched)))]
    )
    if len(found):
        longest = int(found.max())
        yield Symptom(
            "PG008",
            Gravity.CAUTION,
            f"{count(len(found), 'kernel')} of up to {duration(longest)} cannot be: beside each run {_SUCCESSORS} or more later "
            "ones of its stream.",
            _AGAIN,
            len(found),
            min(longest / max(steps.total_ns, 1), 1.0),
        )


def _by_stream(launched: pd.DataFrame, chosen: BoolArray) -> list[tuple[Int64Array, Int64Array]]:
    """Starts and durations of some device work, by start, stream by stream."""
    rows = np.flatnonzero(chosen)
    device, _ = numbered(launched["device"].to_numpy()[rows])
    stream, streams = numbered(launched["stream"].to_numpy()[rows])
    start, dur = launched["start_ns"].to_numpy()[rows], launched["dur_ns"].to_numpy()[rows]
    return [(start[mine], dur[mine]) for mine in rows_by(device * streams + stream).values()]


def _crossing(start_ns: Int64Array, dur_ns: Int64Array) -> Int64Array:
    """Durations of those of one stream, by start, that run beside many later ones."""
    if len(start_ns) <= _SUCCESSORS:
        return dur_ns[:0]
    passed = np.searchsorted(start_ns, start_ns + dur_ns) - np.arange(len(start_ns)) - 1
    return dur_ns[(passed >= _SUCCESSORS) & (dur_ns > _LONGER * np.median(dur_ns))]
