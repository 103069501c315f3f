"""Why a step is left out of the figures: empty, cut off, faulty, warming up, of another loop, or not asked for."""

from __future__ import annotations

import numpy as np
import pandas as pd

from analyzer.facts.recording.said_passes import said_passes
from analyzer.facts.steps.ends import CUT, began_inside, ended_inside
from analyzer.facts.steps.evaluations import evaluations
from analyzer.facts.steps.faults import faults
from analyzer.facts.steps.index import counts
from analyzer.facts.steps.start_up import start_up_ns
from analyzer.spans.arrays import Int64Array
from analyzer.spans.labels import distinct_texts, matching
from analyzer.units import duration
from traces.trace import Trace

# The TensorBoard plugin drops a trailing step with fewer device events than this share of the one before.
TRAILING_DEVICE_SHARE = 0.8
# A first step slower than this multiple of the median still holds warm-up or the start of the loader's workers (PG006).
FIRST_STEP_SLOWDOWN = 1.2
# With fewer steps than this a first step is left out only for start-up calls that explain it: too little would remain.
FIRST_STEP_MIN_STEPS = 4
# Two others are the least that show what a step usually takes.
_EXPLAINED_MIN_STEPS = 3
OUTSIDE = "outside --steps"


def _overlapping(host_start: Int64Array, host_end: Int64Array, spans: pd.DataFrame) -> Int64Array:
    """How many spans touch each step."""
    # A trace is almost in order, which a stable sort is many times as fast for.
    start, end = (np.sort(spans[name].to_numpy(), kind="stable") for name in ("start_ns", "end_ns"))
    return np.searchsorted(start, host_end, side="left") - np.searchsorted(end, host_start, side="right")


def left_out(
    trace: Trace, frame: pd.DataFrame, launches: pd.DataFrame, selected: tuple[int, int] | None
) -> pd.Series[str]:
    """Why each step is not used; NA for used ones."""
    count = len(frame)
    reasons: list[str | None] = [None] * count
    events = frame["device_events"].to_numpy()
    host = [part for part in (trace.ops, trace.runtime, trace.collectives) if len(part)]
    start, end = frame["host_start_ns"].to_numpy(), frame["host_end_ns"].to_numpy()
    work = events + sum(_overlapping(start, end, part) for part in host)
    for index in np.flatnonzero(work == 0).tolist():
        reasons[index] = "empty: no op and no device work"
    # Where the host runs ahead, the end of a file takes device work from more than the last step.
    trailing = range(count - 1, 0 if trace.whole_until_ns is not None else max(count - 2, 0), -1)
    for index in trailing:
        # Steps may take turns, and the first may lack its beginning.
        others = events[min(1, index - 1) : index]
        least = others[others > 0].min(initial=events[index - 1])
        if reasons[index] is not None or events[index] >= TRAILING_DEVICE_SHARE * least:
            break
        reasons[index] = f"{CUT}: {events[index]} device events against {events[index - 1]} in the step before"
    for index, fault in (*faults(trace, launches, start, end).items(), *evaluations(trace, start, end).items()):
        reasons[index] = reasons[index] or fault
    ops = counts(trace.ops["start_ns"].to_numpy(), start, end)
    sound = np.array([index for index in range(1, count) if reasons[index] is None], dtype=np.int64)
    if reasons[0] is None and len(sound):
        reasons[0] = began_inside(ops, frame, sound) or _warms_up(trace, frame, sound)
    before = np.array([index for index in range(count - 1) if reasons[index] is None], dtype=np.int64)
    if reasons[-1] is None and len(before):
        reasons[-1] = ended_inside(trace, ops, frame, before)
    if selected is not None:
        for index, number in enumerate(frame["number"].tolist()):
            inside = selected[0] <= number <= selected[1]
            # Asked for by number: nothing but emptiness leaves it out.
            reasons[index] = (
                None
                if inside and not (reasons[index] or "").startswith("empty")
                else (reasons[index] if inside else OUTSIDE)
            )
    return pd.Series(reasons, dtype="str")


def _reads_a_prompt(trace: Trace, frame: pd.DataFrame) -> bool:
    """Whether a range says that the first step reads a prompt: then it is longer than those that add a token, and no warm-up."""
    ranges = trace.annotations
    said = said_passes(distinct_texts(ranges["name"]))
    reading = matching(ranges["name"], lambda name: name in said and said[name].kind != "decode")
    start = ranges["start_ns"].to_numpy()[reading]
    return bool(((start >= frame["host_start_ns"].iloc[0]) & (start < frame["host_end_ns"].iloc[0])).any())


def _warms_up(trace: Trace, frame: pd.DataFrame, others: Int64Array) -> str | None:
    """Why the first step is not like the others: it is slower, of few steps only by what start-up calls take; else None.

    Args:
        trace: The trace.
        frame: The steps.
        others: Positions of the sound ones after the first, shape (others,), not empty.
    """
    durations = frame["dur_ns"].to_numpy()
    median = float(np.median(np.append(durations[others], durations[0])))
    limit = FIRST_STEP_SLOWDOWN * median
    if not median or durations[0] <= limit or _reads_a_prompt(trace, frame):
        return None
    slower = f"first step is {durations[0] / median:.1f} times the median"
    if len(frame) >= FIRST_STEP_MIN_STEPS:
        return f"{slower} (warm-up)"
    if len(others) + 1 < _EXPLAINED_MIN_STEPS:
        return None
    starting_ns = start_up_ns(trace, frame["host_start_ns"].to_numpy(), frame["host_end_ns"].to_numpy(), 0)
    explained = durations[0] - starting_ns <= limit
    return f"{slower}, {duration(starting_ns)} of it in start-up calls (warm-up)" if explained else None
