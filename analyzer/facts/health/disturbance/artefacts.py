"""PG008 traces of the profiler itself."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from analyzer.cause_names import IDLE_CAUSES
from analyzer.facts.health.symptom import Gravity, Symptom
from analyzer.facts.steps.find import Steps
from analyzer.facts.time.section import TimeFacts
from analyzer.spans.intervals import IntervalSet
from analyzer.spans.labels import is_any
from analyzer.units import duration, share
from traces.trace import Trace

if TYPE_CHECKING:
    import pandas as pd


# Share of the window from which the profiler's own pauses are worth a word.
_OVERHEAD_SHARE = 0.01
# Work that is queued begins sooner than this, and than so many times as long as its launches took.
_APART_NS = 60_000_000_000
_APART_RATIO = 10
# Causes of idle time rest on both clocks; off by such a share of a step, on average, they are worthless.
_EARLY_RATIO = 0.1


def check(trace: Trace, steps: Steps, time: TimeFacts) -> Iterator[Symptom]:
    """The profiler's own overhead while the device idles, booked as `unexplained`, never as a cause; clocks that disagree."""
    apart = _apart_ns(trace)
    if apart is not None:
        yield Symptom(
            "PG008",
            Gravity.UNUSABLE,
            f"All device work lies {duration(apart)} or more away from the host's: their clocks have nothing in common.",
            "record again; if it persists, update torch and the driver",
            len(trace.kernels),
        )
    early = time.early_starts
    if early is not None:
        mean_ns = early.by_ns * early.kernels / early.launched
        yield Symptom(
            "PG008",
            Gravity.UNUSABLE if mean_ns * steps.count >= _EARLY_RATIO * steps.total_ns > 0 else Gravity.CAUTION,
            f"{early.kernels:,} of {early.launched:,} kernels ({share(early.kernels / early.launched)}) start before their "
            f"launch is called: the clocks of host and device disagree, by at least {duration(early.by_ns)}.",
            "record again; if it persists, update torch and the driver",
            early.kernels,
            touches=IDLE_CAUSES,
        )
    overhead = trace.overhead
    spent = IntervalSet.of_rows(overhead) & time.idle
    ratio = steps.ratio(spent.total_ns)
    if ratio >= _OVERHEAD_SHARE:
        yield Symptom(
            "PG008",
            Gravity.NOTE,
            f"The profiler's own work takes {duration(spent.total_ns)} ({share(ratio)}) of the window while the device idles.",
            "record fewer steps or fewer details",
            len(overhead),
            ratio,
        )
    invalid = int(is_any(trace.runtime["name"], "INVALID").sum())
    if invalid:
        yield Symptom("PG008", Gravity.NOTE, f"{invalid:,} runtime calls have no valid name.", None, invalid)


def _apart_ns(trace: Trace) -> int | None:
    """How far host and device lie apart, where that is longer than any queue takes; None where they do not."""
    host = [frame for frame in (trace.ops, trace.runtime) if len(frame)]
    device = [frame for frame in (trace.kernels, trace.copies) if len(frame)]
    if not host or not device:
        return None
    (begin, end), (first, last) = _extent(host), _extent(device)
    apart = max(first - end, begin - last)
    return apart if apart > max(_APART_NS, _APART_RATIO * (end - begin)) else None


def _extent(frames: list[pd.DataFrame]) -> tuple[int, int]:
    return min(int(frame["start_ns"].min()) for frame in frames), max(int(frame["end_ns"].max()) for frame in frames)
