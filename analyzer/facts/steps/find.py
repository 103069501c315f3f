"""Steps: where each begins and ends, and which of them may be used for figures.

Method (rules.md 2.0, after the TensorBoard plugin): a step runs from its mark to the next mark, the last one to its mark's end; on
a device it ends when the last kernel launched in it ends, if that is later, and the next step starts there. So does the first one
after what the step before it launched, which the trace holds without its launch, or not at all.
"""

from __future__ import annotations

from functools import cached_property
from typing import Literal

import msgspec
import numpy as np
import pandas as pd

from analyzer.facts.steps.device_extent import device_extent
from analyzer.facts.steps.index import counts, position_of, slices
from analyzer.facts.steps.inferred import infer_steps
from analyzer.facts.steps.left_out import OUTSIDE, left_out
from analyzer.facts.steps.pre_window_work import backlog_end_ns, busy_until
from analyzer.spans.arrays import BoolArray, Int64Array
from analyzer.spans.columns import present
from analyzer.spans.grouping import chosen
from analyzer.spans.intervals import IntervalSet
from analyzer.units import duration
from traces.fixed_frame import FixedFrame
from traces.trace import Trace

PROFILER_STEP = "ProfilerStep"
WHOLE_TRACE = "whole-trace"
# What a device-aware step takes over from the one before is no occurrence of its own.
_SPILL_RATIO = 0.01


class Steps(msgspec.Struct, frozen=True, dict=True):
    """The steps of a trace.

    Args:
        source: `ProfilerStep`, `inferred:<how>` or `whole-trace`.
        frame: One row per step: number, start_ns, end_ns, dur_ns, host_start_ns, host_end_ns, device_events, used (bool), reason
            (text for unused ones, else NA).
        thread: Row of the marks' thread in `trace.threads`, or None where steps have no marks.
        requests: Whether the steps are served requests rather than training steps.
        recorded: From the first to the last event of the trace, whatever the steps are.
        backlog_ns: For how long at its start the device works off what was launched before it and is not in it; no step's.
        one_pass: Whether each of the requests is one pass of the model.
    """

    source: str
    frame: pd.DataFrame
    thread: int | None
    requests: bool
    recorded: IntervalSet
    backlog_ns: int = 0
    one_pass: bool = False

    @cached_property
    def used(self) -> pd.DataFrame:
        """The rows that figures are made from."""
        return FixedFrame(chosen(self.frame, self.frame["used"].to_numpy(dtype=bool)))

    @cached_property
    def window(self) -> IntervalSet:
        """Union of the used steps."""
        used = self.used
        return IntervalSet.of_rows(used)

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

    @property
    def recurring(self) -> bool:
        """Whether unmarked steps are told by what the program itself does in each: ranges, the optimizer, the loader."""
        return self.source.startswith("inferred:") and not self.source.startswith("inferred:kernel sequence")

    @cached_property
    def whole(self) -> IntervalSet:
        """All steps, used or not."""
        return IntervalSet.of_rows(self.frame)

    def of_host(self, at_ns: Int64Array) -> Int64Array:
        """The position among the used steps of the one that the host is in at each moment, -1 for none."""
        return position_of(at_ns, self.used["host_start_ns"].to_numpy(), self.used["host_end_ns"].to_numpy())

    def of_device(self, at_ns: Int64Array) -> Int64Array:
        """The same for the device, which may get to a step later than the host."""
        return position_of(at_ns, self.used["start_ns"].to_numpy(), self.used["end_ns"].to_numpy())

    def host_slices(self, at_ns: Int64Array) -> tuple[Int64Array, Int64Array]:
        """Where in sorted moments of the host those of each used step begin, and where they end; shape (used steps,) both."""
        return slices(at_ns, self.used["host_start_ns"].to_numpy(), self.used["host_end_ns"].to_numpy())

    @cached_property
    def total_ns(self) -> int:
        """Length of all used steps together."""
        return self.window.total_ns

    @cached_property
    def count(self) -> int:
        """How many steps figures are made from."""
        return len(self.used)

    @cached_property
    def durations_ns(self) -> tuple[int, ...]:
        """How long each used step takes, in order."""
        return tuple(self.used["dur_ns"].tolist())

    @cached_property
    def median_ns(self) -> float:
        """How long a used step takes, median; 0 without any."""
        return float(self.used["dur_ns"].median()) if self.count else 0.0

    def count_with(self, time: IntervalSet) -> int:
        """In how many used steps a time lies.

        This is what "in n of m steps" means wherever a time is told of; `count_of_host` is for what the host does.
        """
        return int(self.holding(time).sum())

    def holding(self, time: IntervalSet) -> BoolArray:
        """Which used steps a time lies in; a hundredth of what lies in the fullest one is but the end of another step's."""
        part = time.overlap_with(self.used["start_ns"].to_numpy(), self.used["end_ns"].to_numpy())
        found: BoolArray = part > part.max(initial=0) * _SPILL_RATIO
        return found

    def few_with_most(self, time: IntervalSet) -> int | None:
        """The fewest used steps that hold three quarters of a time, where they are a third of all or less; None where it recurs.

        Of parts that vary at random, as waiting times do, a third of the steps hold less.
        """
        part = time.overlap_with(self.used["start_ns"].to_numpy(), self.used["end_ns"].to_numpy())
        held = np.cumsum(np.sort(part)[::-1])
        few = int(np.searchsorted(4 * held, 3 * part.sum())) + 1
        return few if part.any() and 3 * few <= self.count else None

    def count_of_host(self, at_ns: Int64Array) -> int:
        """In how many used steps the host is at any of these moments, which may be ahead of where the device is."""
        step = self.of_host(at_ns)
        return len(np.unique(step[step >= 0]))

    def per_step(self, ns: float) -> float:
        """A time over the whole window as a mean per used step; 0 without used steps."""
        return ns / self.count if self.count else 0.0

    def ratio(self, ns: float) -> float:
        """A time as a share of the window; 0 for an empty window."""
        return ns / self.total_ns if self.total_ns else 0.0

    @property
    def noun(self) -> Literal["step", "request", "recording"]:
        """What to call one of the used steps: where nothing marks any, it is the whole recording.

        A pass of a model is no request: an answer takes one for each token or each step of its sampler, and one pass serves many.
        """
        if self.source == WHOLE_TRACE:
            return "recording"
        return "request" if self.requests and not self.one_pass else "step"

    @property
    def each(self) -> str:
        """`each 100 ms step`, `each 80 ms request`, or `the 43 s recording` where it is taken as one: what parts are parts of."""
        return f"{'the' if self.noun == 'recording' else 'each'} {duration(self.per_step(self.total_ns))} {self.noun}"

    @property
    def a_unit(self) -> str:
        """`a step`, `a request`, or `in all` where the recording is taken as one: what stands behind a rate."""
        return "in all" if self.noun == "recording" else f"a {self.noun}"


def find_steps(
    trace: Trace, work: pd.DataFrame, launches: pd.DataFrame, selected: tuple[int, int] | None = None
) -> Steps:
    """The steps of the trace, with those to be left out marked.

    Args:
        trace: The trace.
        work: Device work, from `analyzer.facts.device.launches`.
        launches: The part of it whose launch is in the trace.
        selected: First and last step number to use, inclusive, as `--steps A-B` gives them.
    """
    recorded = _recorded(trace)
    if len(trace.steps):
        marks = trace.steps
        start = marks["start_ns"].to_numpy()
        # The gap between two marks belongs to the earlier step.
        end = np.append(start[1:], marks["end_ns"].to_numpy()[-1])
        busy = busy_until(work, launches, int(start[0]))
        frame = _step_frame(trace, marks["number"].to_numpy(), start, end, launches, max(busy), selected)
        return Steps(PROFILER_STEP, frame, int(marks["thread"].iloc[0]), False, recorded, _unseen(frame, *busy))
    inferred = infer_steps(trace, launches)
    if inferred is not None:
        numbers = np.arange(len(inferred.start_ns))
        # Steps cut between kernels are the device's own: what a launch in one step does in another moves no border.
        hosted = inferred.thread is not None
        extending = launches if hosted else launches.assign(launch_start_ns=launches["start_ns"])
        since = int(inferred.start_ns[0])
        busy = busy_until(work, launches, since) if hosted else (since, since)
        frame = _step_frame(trace, numbers, inferred.start_ns, inferred.end_ns, extending, max(busy), selected)
        source = f"inferred:{inferred.how}"
        unseen = _unseen(frame, *busy)
        return Steps(source, frame, inferred.thread, inferred.requests, recorded, unseen, inferred.one_pass)
    since = recorded.pairs()[0][0] if recorded else 0
    return whole_trace(trace, backlog_end_ns(launches, work, since))


def whole_trace(trace: Trace, since_ns: int | None = None) -> Steps:
    """All of the recording as one step, where it has none.

    Args:
        trace: The trace.
        since_ns: Until when the device worked off what is not in the recording; None where it did not.
    """
    recorded = _recorded(trace)
    frame = _whole_frame(trace, recorded)
    begins = int(frame["start_ns"].iloc[0])
    backlog_ns = 0 if since_ns is None else since_ns - begins
    frame["start_ns"] += backlog_ns
    frame["dur_ns"] -= backlog_ns
    return Steps(WHOLE_TRACE, frame, None, False, recorded, backlog_ns)


def _unseen(frame: pd.DataFrame, recorded_ns: int, unseen_ns: int) -> int:
    """How much of the recording's start goes to work that is not in it; 0 where a step begins no later for it."""
    return unseen_ns - int(frame["host_start_ns"].iloc[0]) if unseen_ns > recorded_ns else 0


def _step_frame(
    trace: Trace,
    numbers: Int64Array,
    host_start: Int64Array,
    host_end: Int64Array,
    launches: pd.DataFrame,
    busy_until_ns: int,
    selected: tuple[int, int] | None,
) -> pd.DataFrame:
    start, end = device_extent(host_start, host_end, launches, busy_until_ns)
    columns = {
        "number": numbers,
        "start_ns": start,
        "end_ns": end,
        "dur_ns": end - start,
        "host_start_ns": host_start,
        "host_end_ns": host_end,
        "device_events": counts(launches["launch_start_ns"].to_numpy(), host_start, host_end),
    }
    reasons = left_out(trace, FixedFrame(columns, copy=False), launches, selected)
    used = ~present(reasons)
    if not used.any():
        # Nothing usable: fall back to every step asked for that has an extent, so that there is a window to describe.
        used = (end > start) & (reasons.to_numpy(dtype=object) != OUTSIDE)
    return FixedFrame({**columns, "reason": reasons.array, "used": used}, copy=False)


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
            # Not `pd.array`: of that, pandas 2 makes the word "None".
            "reason": pd.Series([None], dtype="str"),
            "used": [True],
        }
    )
