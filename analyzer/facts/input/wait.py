"""Waiting for data: every `__next__` of the loader on the training thread, and how much of it the device idles."""

from __future__ import annotations

import msgspec
import pandas as pd

from analyzer.facts.host.section import HostFacts
from analyzer.facts.steps.find import Steps
from analyzer.facts.time.section import TimeFacts
from analyzer.spans.grouping import chosen
from analyzer.spans.intervals import EMPTY, IntervalSet
from analyzer.spans.labels import is_any
from traces.fixed_frame import FixedFrame
from traces.trace import Trace

# Part of the iterator's class, which torchdata's begins with `_Stateful`.
SINGLE_PROCESS = "SingleProcessDataLoaderIter"
MULTI_PROCESS = "MultiProcessingDataLoaderIter"


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
    rows = chosen(ranges, is_any(ranges["kind"], "loader") & (ranges["thread"].to_numpy() == host.main_thread))
    rows = _outermost(rows)
    used = steps.used
    # A call belongs to the step whose mark it follows: the device may still be busy with the step before.
    step = steps.of_host(rows["start_ns"].to_numpy())
    rows, step = chosen(rows, step >= 0), step[step >= 0]
    owned = time.waterfall.owned("input")
    collected = host.threads.during("gc", host.main_thread) if host.main_thread is not None else EMPTY
    starts, ends = rows["start_ns"].to_numpy(), rows["end_ns"].to_numpy()
    calls = FixedFrame(
        {
            "name": rows["name"].astype("str").array,
            "start_ns": starts,
            "end_ns": ends,
            "dur_ns": rows["dur_ns"].to_numpy() - collected.overlap_with(starts, ends),
            "idle_ns": owned.overlap_with(starts, ends),
            "step": used["number"].to_numpy()[step] if len(used) else step,
        },
        index=rows.index,
        copy=False,
    )
    waiting = ((IntervalSet(starts, ends) | host.restarts.making_spans) & steps.window) - collected
    return InputWait(calls, owned, waiting, steps.count_with(owned), own_workers)


def _outermost(rows: pd.DataFrame) -> pd.DataFrame:
    """Calls not inside another one: a loader around a loader waits once.

    A framework's range around torch's own takes the name of that: only it says who makes the batches.
    """
    if not len(rows):
        return rows
    rows = rows.sort_values(["start_ns", "dur_ns"], ascending=[True, False])
    outer = rows["end_ns"] > rows["end_ns"].cummax().shift(fill_value=-1)
    if outer.all():
        return rows
    names = rows["name"].astype("str")
    told = (
        names.where(names.str.contains(f"{SINGLE_PROCESS}|{MULTI_PROCESS}")).groupby(outer.cumsum()).transform("first")
    )
    return rows.assign(name=told.fillna(names))[outer]
