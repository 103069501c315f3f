"""Waiting for data: every `__next__` of the loader on the training thread, and how much of it the device idles."""

from __future__ import annotations

import msgspec
import numpy as np
import pandas as pd

from analyzer.facts.host.section import HostFacts
from analyzer.facts.steps.find import Steps
from analyzer.facts.time.section import TimeFacts
from analyzer.spans.arrays import Int64Array, ObjectArray
from analyzer.spans.intervals import EMPTY, IntervalSet
from analyzer.spans.labels import is_any, matching, texts
from traces.fixed_frame import FixedFrame
from traces.patterns import Pattern
from traces.trace import Trace

# Part of the iterator's class, which torchdata's begins with `_Stateful`.
SINGLE_PROCESS = "SingleProcessDataLoaderIter"
MULTI_PROCESS = "MultiProcessingDataLoaderIter"
_TELLING = Pattern(f"{SINGLE_PROCESS}|{MULTI_PROCESS}")


class InputWait(msgspec.Struct, frozen=True):
    """The loader's calls in the used steps.

    Args:
        calls: One row per call: name, start_ns, end_ns, dur_ns (without what the garbage collector took of it), idle_ns
            (device-idle part that input owns), step (number).
        owned: The part of the window that waiting for input owns (cause `input`).
        host: Time inside the calls and while an iterator starts its workers, whether or not the device works meanwhile; without
            what the garbage collector took of it.
        steps_seen: Used steps in which input owns time.
        own_workers: Whether the framework's own workers make the batches, and the loader only takes from their queue.
    """

    calls: pd.DataFrame
    owned: IntervalSet
    host: IntervalSet
    steps_seen: int
    own_workers: bool = False

    def __len__(self) -> int:
        return len(self.calls)

    @property
    def inside(self) -> IntervalSet:
        """Time inside the calls, also before the device begins with their step."""
        return IntervalSet.of_rows(self.calls)

    @property
    def durations_ns(self) -> tuple[float, ...]:
        """How long each call takes, in order."""
        return tuple(self.calls["dur_ns"].tolist())

    @property
    def name(self) -> str:
        """What the first call is named; there has to be one."""
        return str(self.calls["name"].iloc[0])

    @property
    def single_process(self) -> bool:
        """Whether batches are made by the training thread (`num_workers=0`, and nobody else makes them)."""
        return not self.own_workers and self._any_named(SINGLE_PROCESS)

    @property
    def multi_process(self) -> bool:
        """Whether batches come from worker processes."""
        return self._any_named(MULTI_PROCESS)

    def _any_named(self, part: str) -> bool:
        return any(part in name for name in set(self.calls["name"].tolist()))


def input_wait(trace: Trace, steps: Steps, host: HostFacts, time: TimeFacts, *, own_workers: bool) -> InputWait:
    """Measures the loader's calls on the main thread.

    Args:
        trace: The trace.
        steps: The steps.
        host: What the host's threads do.
        time: Whose each nanosecond is.
        own_workers: Whether workers of the framework's make the batches, which no event shows.
    """
    ranges = trace.annotations
    loader = is_any(ranges["kind"], "loader") & (ranges["thread"].to_numpy() == host.main_thread)
    rows, names = _outermost(ranges, np.flatnonzero(loader))
    used = steps.used
    # A call belongs to the step whose mark it follows: the device may still be busy with the step before.
    step = steps.of_host(ranges["start_ns"].to_numpy()[rows])
    inside = step >= 0
    rows, names, step = rows[inside], names[inside], step[inside]
    owned = time.waterfall.owned("input")
    collected = host.threads.during("gc", host.main_thread) if host.main_thread is not None else EMPTY
    starts, ends, durations = (ranges[name].to_numpy()[rows] for name in ("start_ns", "end_ns", "dur_ns"))
    calls = FixedFrame(
        {
            "name": pd.array(names, dtype="str"),
            "start_ns": starts,
            "end_ns": ends,
            "dur_ns": durations - collected.overlap_with(starts, ends),
            "idle_ns": owned.overlap_with(starts, ends),
            "step": used["number"].to_numpy()[step] if len(used) else step,
        },
        index=ranges.index[rows],
        copy=False,
    )
    waiting = ((IntervalSet(starts, ends) | host.restarts.making_spans) & steps.window) - collected
    return InputWait(calls, owned, waiting, steps.count_with(owned), own_workers)


def _outermost(ranges: pd.DataFrame, rows: Int64Array) -> tuple[Int64Array, ObjectArray]:
    """Calls not inside another one, in order, and their names: a loader around a loader waits once.

    A framework's range around torch's own takes the name of that: only it says who makes the batches.

    Args:
        ranges: The annotations.
        rows: Those that are calls of a loader, on one thread.
    """
    start, end, duration = (ranges[name].to_numpy()[rows] for name in ("start_ns", "end_ns", "dur_ns"))
    order = np.lexsort((-duration, start))
    rows, latest = rows[order], np.maximum.accumulate(end[order])
    outer = end[order] > np.append(-1, latest)[: len(rows)]
    every, told = texts(ranges["name"])[rows], np.flatnonzero(matching(ranges["name"], _TELLING.search)[rows])
    names = every[outer]
    call, first = np.unique(np.cumsum(outer)[told] - 1, return_index=True)
    names[call] = every[told[first]]
    return rows[outer], names
