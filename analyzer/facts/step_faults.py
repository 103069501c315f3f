"""Steps that the recording spoilt: kernels lost, graph replays recorded in part, the first collective of the profiler's start.

They are left out of all figures with their reason, as long as sound steps remain.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pandas as pd

from analyzer.facts.grouping import chosen
from analyzer.facts.labels import codes_of
from analyzer.facts.launches import calls_of, launches_with_work
from analyzer.facts.replays import graph_replays
from analyzer.units import count, duration
from traces.trace import Trace

Int64Array = npt.NDArray[np.int64]

# Fewer launches say nothing about how many kernels a step lost.
_MIN_LAUNCHES = 5
# A step that lost this share of its kernels is left out where another lost less than a tenth.
_LOST_RATIO = 0.5
_SOUND_RATIO = 0.1
# The first collective of a recording spins until the other ranks' profilers run, too.
_SPIN_TIMES = 10
_SPIN_STEP_RATIO = 0.5
_MIN_COLLECTIVES = 3

LOST = "lost kernels"
PARTIAL = "graph recorded in part"
SPIN = "profiler start"


def faults(trace: Trace, launched: pd.DataFrame, host_start: Int64Array, host_end: Int64Array) -> dict[int, str]:
    """What spoilt each step, by its position; only steps beside sound ones are named.

    Args:
        trace: The trace.
        launched: From `launches.launches`.
        host_start: Start of each step on the host, sorted, shape (n,).
        host_end: End of each step on the host, shape (n,).
    """
    if len(host_start) < 2:
        return {}
    found = _lost(trace, launched, host_start, host_end)
    found |= _partial(trace, launched, host_start, host_end)
    found |= _spin(trace, launched, host_start, host_end)
    return found if len(found) < len(host_start) else {}


def _step_of(at: Int64Array, host_start: Int64Array, host_end: Int64Array) -> Int64Array:
    """Position of the step each time lies in, -1 for none."""
    step = np.searchsorted(host_start, at, side="right") - 1
    return np.where((step >= 0) & (at < host_end[np.maximum(step, 0)]), step, -1)


def _lost(trace: Trace, launched: pd.DataFrame, host_start: Int64Array, host_end: Int64Array) -> dict[int, str]:
    start, known = launches_with_work(trace, launched)
    step = _step_of(start, host_start, host_end)
    total = np.bincount(step[step >= 0], minlength=len(host_start))
    lost = np.bincount(step[(step >= 0) & ~known], minlength=len(host_start))
    ratio = lost / np.maximum(total, 1)
    enough = total >= _MIN_LAUNCHES
    if not (enough & (ratio < _SOUND_RATIO)).any():
        return {}
    return {
        index: f"{LOST}: {lost[index]:,} of {count(int(total[index]), 'launch', 'launches')} have none"
        for index in np.flatnonzero(enough & (ratio >= _LOST_RATIO)).tolist()
    }


def _partial(trace: Trace, launched: pd.DataFrame, host_start: Int64Array, host_end: Int64Array) -> dict[int, str]:
    replays = graph_replays(trace, launched)
    replays = chosen(replays, replays["partial"].to_numpy())
    step = _step_of(replays["start_ns"].to_numpy(), host_start, host_end)
    kernels, expected = replays["kernels"].to_numpy(), replays["expected"].to_numpy()
    found: dict[int, str] = {}
    for index, has, should in zip(step.tolist(), kernels.tolist(), expected.tolist(), strict=True):
        if index >= 0:
            found.setdefault(index, f"{PARTIAL}: {has:,} of {should:,.0f} kernels of a replay")
    return found


def _spin(trace: Trace, launched: pd.DataFrame, host_start: Int64Array, host_end: Int64Array) -> dict[int, str]:
    first = first_spin(trace)
    typical = float(np.median(host_end - host_start))
    if first is None or first[1] < _SPIN_STEP_RATIO * typical:
        return {}
    row, dur = first
    call = calls_of(launched, "kernels", np.array([row]), len(trace.kernels))
    at = int(call.start_ns[0]) if call.known[0] else int(trace.kernels["start_ns"].iloc[row])
    step = int(_step_of(np.array([at]), host_start, host_end)[0])
    return {step: f"{SPIN}: its first collective waits {duration(dur)} for other ranks"} if step >= 0 else {}


def first_spin(trace: Trace) -> tuple[int, int] | None:
    """Row and duration of the recording's first collective where it takes many times as long as its like; else None."""
    kernels = trace.kernels
    rows = np.flatnonzero(kernels["collective"].to_numpy(dtype=bool))
    if not len(rows):
        return None
    first = int(rows[0])
    codes = codes_of(kernels["name"])
    alike = rows[codes[rows] == codes[first]]
    others = rows[1:] if len(alike) <= _MIN_COLLECTIVES else alike[1:]
    if len(others) < _MIN_COLLECTIVES:
        return None
    dur = kernels["dur_ns"].to_numpy()
    return (first, int(dur[first])) if dur[first] >= _SPIN_TIMES * max(float(np.median(dur[others])), 1.0) else None
