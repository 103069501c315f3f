"""PG008 device work that goes on when it cannot: behind a call that waited for its end, or while its stream is at later work."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from analyzer.facts.grouping import Int64Array, numbered, rows_by
from analyzer.facts.health.symptom import Gravity, Symptom
from analyzer.facts.labels import is_any
from analyzer.facts.launches import by_kernel_launch
from analyzer.units import count, duration

if TYPE_CHECKING:
    from analyzer.facts import Facts

# Calls that return when all work launched before them, on whatever stream of the device, has ended.
_WAIT_FOR_ALL = frozenset({"cudaDeviceSynchronize", "cudaCtxSynchronize", "cuCtxSynchronize", "hipDeviceSynchronize"})
# In recorded traces the last work ends 5 us or more before such a call returns; so much the other way is no rounding.
_ROUNDING_NS = 10_000
# Work on a stream runs in order, apart from small overlaps. What runs beside so many later kernels of its stream, and takes so
# many times as long as they do, has a wrong duration: one alone the reader sets aside, of many it cannot say which are wrong.
_SUCCESSORS = 16
_LONGER = 20


def check(facts: Facts) -> Iterator[Symptom]:
    """Clocks that disagree, and durations that do."""
    yield from _after_waiting(facts)
    yield from _beside_successors(facts)


def _after_waiting(facts: Facts) -> Iterator[Symptom]:
    """Work that ends after a call has waited for it. With several devices a call waits for one of them: nothing is said."""
    work, calls = facts.launched, facts.trace.runtime
    waits = is_any(calls["name"], *_WAIT_FOR_ALL)
    if not len(work) or not waits.any() or len(np.unique(work["device"].to_numpy())) > 1:
        return
    launched = work["launch_start_ns"].to_numpy()
    order = np.argsort(launched, kind="stable")
    latest = np.maximum.accumulate(work["end_ns"].to_numpy()[order])
    before = np.searchsorted(launched[order], calls["start_ns"].to_numpy()[waits]) - 1
    late = (latest[before] - calls["end_ns"].to_numpy()[waits])[before >= 0]
    late = late[late > _ROUNDING_NS]
    if len(late):
        yield Symptom(
            "PG008",
            Gravity.CAUTION,
            f"Work goes on for up to {duration(int(late.max()))} after {count(len(late), 'call')} that waited for its end: the "
            "clocks of host and device disagree.",
            "record again; if it persists, update torch and the driver",
            len(late),
        )


def _beside_successors(facts: Facts) -> Iterator[Symptom]:
    """Kernels beside which their stream runs many later ones. Branches of a graph may share a stream: those are not looked at."""
    launched = facts.launched
    rows = np.flatnonzero(by_kernel_launch(launched))
    device, _ = numbered(launched["device"].to_numpy()[rows])
    stream, streams = numbered(launched["stream"].to_numpy()[rows])
    start, dur = launched["start_ns"].to_numpy()[rows], launched["dur_ns"].to_numpy()[rows]
    crossing = [_crossing(start[mine], dur[mine]) for mine in rows_by(device * streams + stream).values()]
    found = np.concatenate([np.empty(0, dtype=np.int64), *crossing])
    if len(found):
        longest = int(found.max())
        yield Symptom(
            "PG008",
            Gravity.CAUTION,
            f"{count(len(found), 'kernel')} of up to {duration(longest)} cannot be: beside each run {_SUCCESSORS} or more later "
            "ones of its stream.",
            "record again; if it stays, report it to the maker of the profiler's driver",
            len(found),
            min(longest / max(facts.window_ns, 1), 1.0),
        )


def _crossing(start_ns: Int64Array, dur_ns: Int64Array) -> Int64Array:
    """Durations of those of one stream, by start, that run beside many later ones."""
    passed = np.searchsorted(start_ns, start_ns + dur_ns) - np.arange(len(start_ns)) - 1
    return dur_ns[(passed >= _SUCCESSORS) & (dur_ns > _LONGER * np.median(dur_ns))]
