"""PG008 start times that were rounded: what began one after the other seems to begin at once, and the rest to be a gap.

A tool that writes a trace again may print stamps with six digits, keep them in 32 bits, or round them to milliseconds.
Durations stay as they were, so that nothing else in the file looks wrong.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from analyzer.facts.health.complete.repairs import UNTOUCHED
from analyzer.facts.health.symptom import Gravity, Symptom
from analyzer.spans.labels import codes_of
from analyzer.units import duration, share
from traces.trace import Trace

if TYPE_CHECKING:
    import pandas as pd


# The format counts in microseconds, and torch wrote whole ones up to 2.2.
_FORMAT_NS = 1_000
# Share of events that begin with another one of their kind and thread: at most 9 % in recorded traces, those in whole
# microseconds, where an op often begins with the one around it.
_TIED_RATIO = 0.3
# Fewer events may happen to lie on a coarse grid.
_MIN_EVENTS = 100


def check(trace: Trace) -> Iterator[Symptom]:
    """Starts on a grid that is coarser than the format's, and several at one point of it."""
    frames = [frame for frame in (trace.ops, trace.runtime, trace.kernels) if len(frame)]
    events = sum(map(len, frames))
    if events < _MIN_EVENTS:
        return
    starts = np.concatenate([frame["start_ns"].to_numpy() for frame in frames])
    # 0 where all of them are one.
    grid = int(np.gcd.reduce(starts - starts.min()))
    if 0 < grid <= _FORMAT_NS:
        return
    tied = sum(map(_tied, frames)) / events
    if tied < _TIED_RATIO:
        return
    typical = float(np.median(np.concatenate([frame["dur_ns"].to_numpy() for frame in frames])))
    yield Symptom(
        "PG008",
        Gravity.UNUSABLE if grid >= typical or not grid else Gravity.CAUTION,
        f"Start times were rounded{f' to {duration(grid)}' if grid else ''}: {share(tied)} of the ops, calls and kernels seem to "
        "begin together with another one, and the time between is no gap.",
        UNTOUCHED,
        round(tied * events),
    )


def _tied(frame: pd.DataFrame) -> int:
    """How many begin at the same time as another one of their thread or stream; not an op's second copy (torch 1.8)."""
    timed = frame["dur_ns"].to_numpy() > 0
    keys = [frame[key].to_numpy()[timed] for key in ("start_ns", "thread", "stream", "device") if key in frame]
    name, dur = codes_of(frame["name"])[timed], frame["dur_ns"].to_numpy()[timed]
    order = np.lexsort((name, dur, *keys))
    together = np.logical_and.reduce([np.diff(key[order]) == 0 for key in keys])
    # Of a row of equal ones only the second.
    same = together & (np.diff(name[order]) == 0) & (np.diff(dur[order]) == 0)
    return int((together & ~(same & ~np.append(False, same)[:-1])).sum())
