"""Durations that cannot be, which the reader had no reason to set aside: longer than whole steps."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from analyzer.facts.device.launches import from_source
from analyzer.facts.health.symptom import Gravity, Symptom
from analyzer.facts.steps.faults import first_spin
from analyzer.facts.steps.find import Steps
from analyzer.spans.arrays import BoolArray, Int64Array
from analyzer.spans.grouping import rows_by
from analyzer.units import count, duration
from traces.trace import Trace

# No kernel of a steady program takes as long as this many of its steps.
_STEPS = 2.0
_MIN_STEPS = 3


def check(trace: Trace, steps: Steps, launched: pd.DataFrame) -> Iterator[Symptom]:
    """The reader sets aside what is certainly wrong, this is what is left."""
    yield from _long_kernels(trace, steps, launched)
    yield from _crossing_calls(trace, steps)


def _crossing_calls(trace: Trace, steps: Steps) -> Iterator[Symptom]:
    """Ops and calls that end a step or more after the mark in which their thread began them: a mark closes after what is in it."""
    lasting = 0
    longest = 0
    marks = trace.steps
    for thread, mine in rows_by(marks["thread"].to_numpy()).items():
        start, end = marks["start_ns"].to_numpy()[mine], marks["end_ns"].to_numpy()[mine]
        least = int(marks["dur_ns"].to_numpy()[mine].min())
        for frame in (trace.ops, trace.runtime):
            long = (frame["thread"].to_numpy() == thread) & (frame["dur_ns"].to_numpy() > least)
            begins, ends = frame["start_ns"].to_numpy()[long], frame["end_ns"].to_numpy()[long]
            step = np.searchsorted(start, begins, side="right") - 1
            # What begins before the first mark is in none, and looks at the last for nothing.
            inside = (step >= 0) & (begins < end[step])
            beyond = inside & (ends > end[step] + (end - start)[step])
            lasting += int(beyond.sum())
            longest = max(longest, int(frame["dur_ns"].to_numpy()[long][beyond].max(initial=0)))
    if lasting:
        yield Symptom(
            "PG008",
            Gravity.CAUTION,
            f"{count(lasting, 'op or call', 'ops and calls')} of up to {duration(longest)} cannot be: the step around ends before.",
            "record again; if it stays, update torch",
            lasting,
            min(longest / max(steps.total_ns, 1), 1.0),
        )


def _long_kernels(trace: Trace, steps: Steps, launched: pd.DataFrame) -> Iterator[Symptom]:
    """Kernels longer than two steps, of those they lie in too; where most are, nothing measures the steps."""
    lengths = steps.frame["dur_ns"].to_numpy()
    sound = lengths[lengths > 0]
    if steps.source == "whole-trace" or len(sound) < _MIN_STEPS:
        return
    typical = float(np.median(sound))
    kernels = trace.kernels
    spin = first_spin(trace)
    rows = np.flatnonzero(kernels["dur_ns"].to_numpy() > _STEPS * typical)
    if spin is not None:
        rows = rows[rows != spin[0]]
    around = _longest_around(trace, steps, rows)
    rows = rows[kernels["dur_ns"].to_numpy()[rows] > _STEPS * around]
    rows = rows[~_waited_for(trace, launched, rows)]
    if len(rows):
        longest = int(kernels["dur_ns"].to_numpy()[rows].max())
        yield Symptom(
            "PG008",
            Gravity.UNUSABLE if len(rows) > len(kernels) / 2 else Gravity.CAUTION,
            f"{count(len(rows), 'kernel')} of up to {duration(longest)} cannot be: a step takes {duration(typical)}.",
            "record again; if it stays, report it to the maker of the profiler's driver",
            len(rows),
            min(longest / max(steps.total_ns, 1), 1.0),
        )


def _longest_around(trace: Trace, steps: Steps, rows: Int64Array) -> Int64Array:
    """The longest step, as the host goes through them, in which each kernel runs; 0 outside of all. Shape (rows,).

    Not as the device does: there a step lasts as long as its kernels, whatever those state. A prompt is read for longer than the
    passes behind it take.
    """
    start, end = steps.frame["host_start_ns"].to_numpy(), steps.frame["host_end_ns"].to_numpy()
    first = np.searchsorted(end, trace.kernels["start_ns"].to_numpy()[rows], side="right")
    last = np.searchsorted(start, trace.kernels["end_ns"].to_numpy()[rows], side="left")
    pairs = np.column_stack((first, np.maximum(last, first))).ravel()
    # The maximum over nothing is what stands at the first place: such kernels lie between two steps.
    longest = np.maximum.reduceat(np.append(end - start, 0), pairs)[::2] if len(rows) else np.zeros(0, dtype=np.int64)
    return np.where(first < last, longest, 0)


def _waited_for(trace: Trace, launched: pd.DataFrame, rows: Int64Array) -> BoolArray:
    """Whether work that was launched while a kernel ran began on its stream only after it; shape (rows,).

    A host that waits for nothing goes through many steps meanwhile, and the device shows that the kernel did take so long.
    """
    device, stream, begins = (launched[name].to_numpy() for name in ("device", "stream", "start_ns"))
    order = np.lexsort((begins, stream, device))
    place = np.full(len(trace.kernels), len(order))
    ours = from_source(launched, "kernels")[order]
    place[launched["row"].to_numpy()[order][ours]] = np.flatnonzero(ours)
    # What has no launch, or nothing behind it, is followed by nothing.
    queued = place[rows] < len(order) - 1
    mine, following = order[place[rows[queued]]], order[place[rows[queued]] + 1]
    ends = trace.kernels["end_ns"].to_numpy()[rows[queued]]
    same = (device[mine] == device[following]) & (stream[mine] == stream[following])
    waited = np.zeros(len(rows), dtype=bool)
    waited[queued] = same & (begins[following] >= ends) & (launched["launch_start_ns"].to_numpy()[following] < ends)
    return waited
