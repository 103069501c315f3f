"""Durations that cannot be, which the reader had no reason to set aside: longer than whole steps."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from analyzer.facts.health.symptom import Gravity, Symptom
from analyzer.facts.steps.faults import first_spin
from analyzer.facts.steps.find import Steps
from analyzer.spans.grouping import rows_by
from analyzer.units import count, duration
from traces.trace import Trace

# No kernel of a steady program takes as long as this many of its steps.
_STEPS = 2.0
_MIN_STEPS = 3


def check(trace: Trace, steps: Steps) -> Iterator[Symptom]:
    """The reader sets aside what is certainly wrong, this is what is left."""
    yield from _long_kernels(trace, steps)
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


def _long_kernels(trace: Trace, steps: Steps) -> Iterator[Symptom]:
    """Kernels longer than two steps; where most are, nothing measures the steps."""
    lengths = steps.frame["dur_ns"].to_numpy()
    sound = lengths[lengths > 0]
    if steps.source == "whole-trace" or len(sound) < _MIN_STEPS:
        return
    typical = float(np.median(sound))
    kernels = trace.kernels
    spin = first_spin(trace)
    long = kernels["dur_ns"].to_numpy() > _STEPS * typical
    if spin is not None:
        long[spin[0]] = False
    if long.any():
        longest = int(kernels["dur_ns"].to_numpy()[long].max())
        yield Symptom(
            "PG008",
            Gravity.UNUSABLE if long.sum() > len(long) / 2 else Gravity.CAUTION,
            f"{count(int(long.sum()), 'kernel')} of up to {duration(longest)} cannot be: a step takes {duration(typical)}.",
            "record again; if it stays, report it to the maker of the profiler's driver",
            int(long.sum()),
            min(longest / max(steps.total_ns, 1), 1.0),
        )
