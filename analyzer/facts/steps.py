"""Steps: where each begins and ends, and which of them may be used for figures.

Method (rules.md 2.0, after the TensorBoard plugin): a step runs from its mark to the next mark, the last one to its mark's end; on
a device it ends when the last kernel launched in it ends, if that is later, and the next step starts there. So does the first one
after what the step before it launched, which the trace holds without its launch.
"""

from __future__ import annotations

from functools import cached_property

import msgspec
import numpy as np
import numpy.typing as npt
import pandas as pd

from analyzer.facts.inferred_steps import infer_steps
from analyzer.facts.left_over import left_over
from analyzer.facts.step_faults import faults
from analyzer.intervals import IntervalSet
from traces.trace import Trace

Int64Array = npt.NDArray[np.int64]

PROFILER_STEP = "ProfilerStep"
WHOLE_TRACE = "whole-trace"

# The TensorBoard plugin drops a trailing step with fewer device events than this share of the one before.
TRAILING_DEVICE_SHARE = 0.8
# A first step slower than this multiple of the median still holds warm-up or the start of the loader's workers (PG006).
FIRST_STEP_SLOWDOWN = 1.2
# With fewer steps than this a first step is not left out: too little would remain.
FIRST_STEP_MIN_STEPS = 4


OUTSIDE = "outside --steps"


class Steps(msgspec.Struct, frozen=True, dict=True):
    """The steps of a trace.

    Args:
        source: `ProfilerStep`, `inferred:<how>` or `whole-trace`.
        frame: One row per step: number, start_ns, end_ns, dur_ns, host_start_ns, host_end_ns, device_events, used (bool), reason
            (text for unused ones, else NA).
        thread: Row of the marks' thread in `trace.threads`, or None where steps have no marks.
        requests: Whether the steps are served requests rather than training steps.
        recorded: From the first to the last event of the trace, whatever the steps are.
    """

    source: str
    frame: pd.DataFrame
    thread: int | None
    requests: bool
    recorded: IntervalSet

    @cached_property
    def used(self) -> pd.DataFrame:
        """The rows that figures are made from."""
        return self.frame[self.frame["used"]]

    @cached_property
    def window(self) -> IntervalSet:
        """Union of the used steps."""
        used = self.used
        return IntervalSet(used["start_ns"].to_numpy(), used["end_ns"].to_numpy())

    @cached_property
    def host_window(self) -> IntervalSet:
        """Union of the used steps as the host goes through them: what it does for them, before the device gets to it."""
        used = self.used
        return IntervalSet(used["host_start_ns"].to_numpy(), used["host_end_ns"].to_numpy())

    @cached_property
    def raw_window(self) -> IntervalSet:
        """From the first host step's start to the last host step's end, nothing dropped (W0 of rules.md).

        Without step marks: the whole recording.
        """
        if not self.marked:
            return self.recorded
        return IntervalSet.of([(int(self.frame["host_start_ns"].min()), int(self.frame["host_end_ns"].max()))])

    @property
    def marked(self) -> bool:
        """Whether the program marked the steps itself."""
        return self.source == PROFILER_STEP


def find_steps(
    trace: Trace, work: pd.DataFrame, launches: pd.DataFrame, selected: tuple[int, int] | None = None
) -> Steps:
    """The steps of the trace, with those to be left out marked.

    Args:
        trace: The trace.
        work: Device work, from `analyzer.facts.launches`.
        launches: The part of it whose launch is in the trace.
        selected: First and last step number to use, inclusive, as `--steps A-B` gives them.
    """
    recorded = _recorded(trace)
    if len(trace.steps):
        marks = trace.steps
        start = marks["start_ns"].to_numpy()
        # The gap between two marks belongs to the earlier step.
        end = np.append(start[1:], marks["end_ns"].to_numpy()[-1])
        before = work[left_over(work, launches, int(start[0]))]
        frame = _step_frame(trace, marks["number"].to_numpy(), start, end, launches, before, selected)
        return Steps(PROFILER_STEP, frame, int(marks["thread"].iloc[0]), False, recorded)
    inferred = infer_steps(trace)
    if inferred is not None:
        numbers = np.arange(len(inferred.start_ns))
        # Steps cut between kernels are the device's own: what a launch in one step does in another moves no border.
        hosted = inferred.thread is not None
        extending = launches if hosted else launches.assign(launch_start_ns=launches["start_ns"])
        before = work[left_over(work, launches, int(inferred.start_ns[0]))] if hosted else work[:0]
        frame = _step_frame(trace, numbers, inferred.start_ns, inferred.end_ns, extending, before, selected)
        return Steps(f"inferred:{inferred.how}", frame, inferred.thread, inferred.requests, recorded)
    return Steps(WHOLE_TRACE, _whole_frame(trace, recorded), None, False, recorded)


def _step_frame(
    trace: Trace,
    numbers: Int64Array,
    host_start: Int64Array,
    host_end: Int64Array,
    launches: pd.DataFrame,
    before: pd.DataFrame,
    selected: tuple[int, int] | None,
) -> pd.DataFrame:
    start, end = _device_extent(host_start, host_end, launches, before)
    frame = pd.DataFrame(
        {
            "number": numbers,
            "start_ns": start,
            "end_ns": end,
            "dur_ns": end - start,
            "host_start_ns": host_start,
            "host_end_ns": host_end,
            "device_events": _events_per_step(host_start, host_end, launches["launch_start_ns"].to_numpy()),
        }
    )
    frame["reason"] = _reasons(trace, frame, launches, selected)
    frame["used"] = frame["reason"].isna()
    if not frame["used"].any():
        # Nothing usable: fall back to every step asked for that has an extent, so that there is a window to describe.
        frame["used"] = (frame["dur_ns"] > 0) & (frame["reason"] != OUTSIDE).fillna(True)
    return frame


def _recorded(trace: Trace) -> IntervalSet:
    """From the first to the last event of any kind that takes time."""
    frames = (trace.ops, trace.annotations, trace.runtime, trace.kernels, trace.copies, trace.collectives, trace.python)
    starts = [int(frame["start_ns"].to_numpy().min()) for frame in frames if len(frame)]
    ends = [int(frame["end_ns"].to_numpy().max()) for frame in frames if len(frame)]
    return IntervalSet.of([(min(starts, default=0), max(ends, default=0))])


def _whole_frame(trace: Trace, recorded: IntervalSet) -> pd.DataFrame:
    start, end = recorded.pairs()[0] if recorded else (0, 0)
    return pd.DataFrame(
        {
            "number": [0],
            "start_ns": [start],
            "end_ns": [end],
            "dur_ns": [end - start],
            "host_start_ns": [start],
            "host_end_ns": [end],
            "device_events": [len(trace.kernels) + len(trace.copies)],
            "reason": pd.array([None], dtype="str"),
            "used": [True],
        }
    )


def _device_extent(
    host_start: Int64Array, host_end: Int64Array, launches: pd.DataFrame, before: pd.DataFrame
) -> tuple[Int64Array, Int64Array]:
    """Device-aware starts and ends: contiguous, each end the later of the host's and of the last work launched in the step.

    Args:
        host_start: Start of each step on the host, sorted, shape (n,).
        host_end: End of each step on the host, shape (n,).
        launches: Device work with its launch.
        before: Device work that was launched before the first step.
    """
    launch = launches["launch_start_ns"].to_numpy()
    step = np.searchsorted(host_start, launch, side="right") - 1
    inside = (step >= 0) & (launch < host_end[np.maximum(step, 0)])
    end = host_end.copy()
    np.maximum.at(end, step[inside], launches["end_ns"].to_numpy()[inside])
    end = np.maximum.accumulate(end)
    first = max(int(host_start[0]), int(before["end_ns"].max()) if len(before) else 0)
    # Work on another stream may outlast the whole step; then nobody can say what was whose.
    start = np.concatenate([[first if first < end[0] else host_start[0]], end[:-1]])
    return start, end


def _events_per_step(host_start: Int64Array, host_end: Int64Array, at: Int64Array) -> Int64Array:
    at = np.sort(at)
    return np.searchsorted(at, host_end, side="left") - np.searchsorted(at, host_start, side="left")


def _overlapping(host_start: Int64Array, host_end: Int64Array, spans: pd.DataFrame) -> Int64Array:
    """How many spans touch each step."""
    ended = np.searchsorted(np.sort(spans["end_ns"].to_numpy()), host_start, side="right")
    begun = np.searchsorted(np.sort(spans["start_ns"].to_numpy()), host_end, side="left")
    return begun - ended


def _reasons(
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
        if reasons[index] is not None or events[index] >= TRAILING_DEVICE_SHARE * events[index - 1]:
            break
        reasons[index] = f"cut off: {events[index]} device events against {events[index - 1]} in the step before"
    for index, fault in faults(trace, launches, start, end).items():
        reasons[index] = reasons[index] or fault
    durations = frame["dur_ns"].to_numpy()
    others = durations[[index for index in range(1, count) if reasons[index] is None]]
    if count >= FIRST_STEP_MIN_STEPS and reasons[0] is None and len(others):
        median = float(np.median(np.append(others, durations[0])))
        if median and durations[0] > FIRST_STEP_SLOWDOWN * median:
            reasons[0] = f"first step is {durations[0] / median:.1f} times the median (warm-up)"
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
