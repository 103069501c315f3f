"""Whether the first step was recorded from its beginning on, and the last one to its end.

A recording that a clock begins and ends (on demand, or by a timer of the program) does so in the middle of a step. What such a step
lacks is no waiting of the program's.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from analyzer.facts.steps.index import position_of
from analyzer.spans.arrays import Int64Array
from analyzer.units import duration
from traces.trace import Trace

BEGUN_BEFORE = "recorded from its middle on, or does less"
CUT = "cut off"

# A first step with less than this share of the work of every other one lacks its beginning, a last one its end: as much as the
# TensorBoard plugin lets a last one miss. Less than every other, not than the nearest: steps that take turns differ by as much.
_WORK_RATIO = 0.8
# A last step that is silent at its end for longer than any other, by this share of what most take, waits for what was not recorded,
# or stands still for once: a first one that is slower by as much is left out, too.
_SILENT_RATIO = 0.2
# Other programs may have the core for shorter than that, in any step.
_SILENT_NS = 10_000_000


def began_inside(ops: Int64Array, steps: pd.DataFrame, others: Int64Array) -> str | None:
    """Why the first step is no whole one, where it has less work than any other; else None.

    Args:
        ops: How many begin in each step, shape (steps,).
        steps: The steps, with device_events.
        others: Positions of the sound ones after the first, shape (others,), not empty.
    """
    less = _less_work(ops, steps, 0, others)
    return f"{BEGUN_BEFORE}: {less}" if less else None


def ended_inside(trace: Trace, ops: Int64Array, steps: pd.DataFrame, others: Int64Array) -> str | None:
    """Why the last step is no whole one, where it has less work than any other, or is silent at its end; else None.

    Args:
        trace: The trace.
        ops: How many begin in each step, shape (steps,).
        steps: The steps, with host_start_ns, host_end_ns, dur_ns and device_events.
        others: Positions of the sound ones before the last, shape (others,), not empty.
    """
    less = _less_work(ops, steps, len(steps) - 1, others)
    if less:
        return f"{CUT}, or does less: {less}"
    last = _silent_ns(trace, steps.iloc[-1:])[0]
    least = max(_SILENT_RATIO * float(np.median(steps["dur_ns"].to_numpy()[others])), _SILENT_NS)
    if last < least:
        return None
    most = int(_silent_ns(trace, steps)[others].max())
    if last - most < least:
        return None
    return f"{CUT}, or stands still: nothing is recorded of its last {duration(last)}, of the others' at most {duration(most)}"


def _less_work(ops: Int64Array, steps: pd.DataFrame, position: int, others: Int64Array) -> str | None:
    """How much less work of each kind a step has than any of the others; None where it has enough of one."""
    # Fewer of one kind alone are lost events, or another way to do the same.
    kinds = [
        (work, what)
        for work, what in ((ops, "ops"), (steps["device_events"].to_numpy(), "device events"))
        if work.any()
    ]
    least = [int(work[others].min()) for work, _ in kinds]
    if not kinds or any(work[position] >= _WORK_RATIO * few for (work, _), few in zip(kinds, least, strict=True)):
        return None
    has = " and ".join(f"{int(work[position]):,} {what}" for work, what in kinds)
    return f"{has}, the others at least {' and '.join(f'{few:,}' for few in least)}"


def _silent_ns(trace: Trace, steps: pd.DataFrame) -> Int64Array:
    """For how long at the end of each step no event goes on that began in it, shape (steps,)."""
    begin, end = steps["host_start_ns"].to_numpy(), steps["host_end_ns"].to_numpy()
    until = begin.copy()
    ranges = trace.annotations
    for part in (trace.ops, trace.runtime, trace.kernels, trace.copies, trace.collectives, trace.python, ranges):
        at, until_ns = part["start_ns"].to_numpy(), part["end_ns"].to_numpy()
        step = position_of(at, begin, end)
        inside = step >= 0
        if part is ranges:
            # The mark of the step is one as well.
            inside &= (at != begin[step]) | (until_ns < end[step])
        np.maximum.at(until, step[inside], until_ns[inside])
    silent_ns: Int64Array = np.maximum(end - until, 0)
    return silent_ns
