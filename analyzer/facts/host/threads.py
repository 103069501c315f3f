"""What each host thread does when, as interval sets per thread, and which calls block it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

import numpy as np
import pandas as pd

from analyzer.facts.device.captures import capturing
from analyzer.facts.device.launches import LAUNCHING, copies_of_calls, from_source
from analyzer.facts.host.frames_known import compiling, waiting
from analyzer.facts.host.ops import pick_row
from analyzer.facts.host.unanswered import unanswered
from analyzer.spans.arrays import BoolArray, Int64Array, RowArray, narrow
from analyzer.spans.grouping import rows_by
from analyzer.spans.intervals import EMPTY, IntervalSet
from analyzer.spans.labels import is_any
from traces.fixed_frame import FixedFrame
from traces.ordering import outer_first
from traces.reader.columns.growing import thrifty
from traces.trace import Trace

# Copies whose call waits for them, by its name.
_SYNCHRONOUS = ("cudaMemcpy", "hipMemcpy", "hipMemcpyWithStream", "cudaMemcpy2D", "hipMemcpyDtoH")
# Ops without a call on the way to the next launch are views and allocations of the cache, microseconds each: a millisecond of them
# between a wait and the next kernel computes something on the host (`dispatch_owner.py` draws the line there too).
_OWN_WORK_NS = 1_000_000
_NO_ROWS: RowArray = np.empty(0, dtype=np.int32)
# What most events are in, and the frame they come from: made of it when asked for, 20 MB a million events.
_OF_MOST_EVENTS = {"ops": "ops", "calls": "calls", "launch": "calls"}
# Fewer intervals take less than a megabyte.
_LARGE = 1 << 16


class HostActivity:
    """Interval sets per thread, made on demand.

    Args:
        trace: The trace.
        launched: From `launches.launches`: tells which memory-copy call moves what.
        preparing: Per thread, when a loader's iterator is made: waiting for input without a range of its own.
    """

    def __init__(
        self, trace: Trace, launched: pd.DataFrame, preparing: Mapping[int, IntervalSet] | None = None
    ) -> None:
        self._trace = trace
        self._launched = launched
        self._preparing = preparing or {}
        # Asked again for every device.
        self._silent: dict[int, IntervalSet] = {}
        self._kept: dict[tuple[str, int], IntervalSet] = {}

    @cached_property
    def calls(self) -> pd.DataFrame:
        """Runtime calls with what they do to the host.

        Returns:
            The runtime frame plus `direction` (of the copy the call starts; NA else), `device_ns` (duration of that copy on the
            device, 0 else), and `blocking` (bool): whether the call makes the host wait for the device (hostblock of rules.md
            2.0): synchronisations, calls that copy to the host and wait for it, those that are synchronous by name. Host-to-device
            calls are not blocking here, even where the runtime stages them: they are `transfer_call`, whose fix differs.
        """
        runtime, launched = self._trace.runtime, self._launched
        moving = is_any(launched["kind"], "copy") & from_source(launched, "copies")
        started = copies_of_calls(launched, moving, len(runtime))
        device_ns = thrifty(np.append(launched["dur_ns"].to_numpy(), 0)[started])
        copied = pick_row(launched["row"].to_numpy(), started)
        directions = pd.Series(self._trace.copies["direction"].array.take(copied, allow_fill=True), index=runtime.index)
        synchronous = is_any(runtime["name"], *_SYNCHRONOUS)
        pinned = self._trace.copies["host_memory"].array.take(copied, allow_fill=True)
        copied_ns = np.append(launched["end_ns"].to_numpy(), 0)[started]
        # Into pinned memory the device copies by itself: the call that returns before it is done waits for nothing.
        beside = is_any(pd.Series(pinned, index=runtime.index), "pinned") & (runtime["end_ns"].to_numpy() < copied_ns)
        blocking = is_any(runtime["kind"], "sync") | (is_any(directions, "DtoH") & ~beside)
        blocking |= synchronous & ~is_any(directions, "HtoD")
        columns = {name: runtime[name].array for name in runtime.columns}
        return FixedFrame(
            {**columns, "direction": directions.array, "device_ns": device_ns, "blocking": blocking},
            index=runtime.index,
            copy=False,
        )

    @cached_property
    def _by_thread(self) -> Mapping[str, dict[int, IntervalSet]]:
        trace, calls, ranges = self._trace, self.calls, self._trace.annotations
        rows: dict[str, tuple[pd.DataFrame, BoolArray | None]] = {
            "input": (ranges, is_any(ranges["kind"], "loader")),
            "allocator": (calls, is_any(calls["kind"], "allocator")),
            "blocking": (calls, calls["blocking"].to_numpy()),
            "unanswered": (unanswered(trace), None),
            "transfer_call": (calls, is_any(calls["direction"], "HtoD")),
            "optimizer": (ranges, is_any(ranges["kind"], "optimizer_step", "zero_grad")),
            "compile": (ranges, is_any(ranges["kind"], "compile")),
            "kernels": (trace.python, compiling(trace.python)),
            "waiting": (trace.python, waiting(trace.python)),
            "collectives": (trace.collectives, None),
            "gc": (trace.gc, None),
        }
        spans = {name: per_thread(frame, mask) for name, (frame, mask) in rows.items()}
        for thread, making in self._preparing.items():
            spans["input"][thread] = spans["input"].get(thread, EMPTY) | making
        for thread, making in (*capturing(trace).items(), *spans["kernels"].items()):
            spans["compile"][thread] = spans["compile"].get(thread, EMPTY) | making
        return spans

    def during(self, what: str, thread: int) -> IntervalSet:
        """When a thread is inside `what`.

        Args:
            what: input, allocator, blocking, unanswered (the end of it, for work that is not in the trace), transfer_call,
                optimizer, compile, kernels (compiled one by one), waiting (for what others hand over), launch, ops, calls,
                collectives or gc.
            thread: Row in `trace.threads`.
        """
        return self._of_events(what, thread) if what in _OF_MOST_EVENTS else self._by_thread[what].get(thread, EMPTY)

    def anywhere(self, what: str) -> IntervalSet:
        """When any thread is inside `what`."""
        if what in _OF_MOST_EVENTS:
            # They are in order whatever their threads: nothing has to be merged.
            return IntervalSet.of_rows(self._events(what), self._launching if what == "launch" else None)
        return IntervalSet.union(self._by_thread[what].values())

    def _of_events(self, what: str, thread: int) -> IntervalSet:
        """When a thread is inside any op, any call, or any that launches; small ones are kept, and asked for again per device."""
        if (what, thread) in self._kept:
            return self._kept[what, thread]
        rows = self._rows[_OF_MOST_EVENTS[what]].get(thread, _NO_ROWS)
        if what == "launch":
            rows = rows[self._launching[rows]]
        found = IntervalSet.of_rows(self._events(what), rows)
        if len(found) < _LARGE:
            self._kept[what, thread] = found
        return found

    def _events(self, what: str) -> pd.DataFrame:
        return self._trace.ops if _OF_MOST_EVENTS[what] == "ops" else self.calls

    def refilled_after(self, thread: int, refilled: Int64Array) -> Int64Array:
        """For each stretch of `during("blocking")` when the device has work again behind it; its end where it has none any more.

        Args:
            thread: The thread.
            refilled: When the device has work again, sorted.
        """
        ends = self.during("blocking", thread).end_ns
        index = np.searchsorted(refilled, ends, side="left")
        return np.where(index < len(refilled), np.append(refilled, 0)[index], ends)

    def own_work(self, thread: int, within: IntervalSet) -> IntervalSet:
        """Ops of a thread that compute on the host, in those intervals in which they take a millisecond or more together.

        Args:
            thread: The thread.
            within: Disjoint intervals, each looked at by itself.
        """
        working = self._uncalling(thread)
        heavy = working.overlap_with(within.start_ns, within.end_ns) >= _OWN_WORK_NS
        return working & IntervalSet(within.start_ns[heavy], within.end_ns[heavy])

    @cached_property
    def _rows(self) -> dict[str, dict[int, RowArray]]:
        """Per thread the rows of its ops, and of its calls."""
        frames = {"ops": self._trace.ops, "calls": self.calls}
        return {
            name: {thread: narrow(rows) for thread, rows in rows_by(frame["thread"].to_numpy()).items()}
            for name, frame in frames.items()
        }

    @cached_property
    def _launching(self) -> BoolArray:
        """Which calls put work on a device, shape (calls,)."""
        return is_any(self.calls["kind"], *LAUNCHING)

    def _uncalling(self, thread: int) -> IntervalSet:
        """Outermost ops of a thread in which no runtime call begins: they ask nothing of the device."""
        if thread not in self._silent:
            self._silent[thread] = self._find_uncalling(thread)
        return self._silent[thread]

    def _find_uncalling(self, thread: int) -> IntervalSet:
        ops, mine = self._trace.ops, self._rows["ops"].get(thread, _NO_ROWS)
        start, end = ops["start_ns"].to_numpy()[mine], ops["end_ns"].to_numpy()[mine]
        order = outer_first(start, end)
        start, end = start[order], end[order]
        outermost = np.ones(len(start), dtype=bool)
        outermost[1:] = start[1:] >= np.maximum.accumulate(end)[:-1]
        start, end = start[outermost], end[outermost]
        called = np.sort(self.calls["start_ns"].to_numpy()[self._rows["calls"].get(thread, _NO_ROWS)])
        silent = np.searchsorted(called, start, side="left") == np.searchsorted(called, end, side="left")
        return IntervalSet(start[silent], end[silent])


def per_thread(frame: pd.DataFrame, chosen: BoolArray | None = None) -> dict[int, IntervalSet]:
    """Union of a host frame's spans per thread.

    Args:
        frame: Columns thread, start_ns and end_ns.
        chosen: Which rows count, shape (rows,); None for all.
    """
    thread, start, end = (frame[name].to_numpy() for name in ("thread", "start_ns", "end_ns"))
    if chosen is not None:
        thread, start, end = thread[chosen], start[chosen], end[chosen]
    return {one: IntervalSet(start[rows], end[rows]) for one, rows in rows_by(thread).items()}


def main_thread(trace: Trace, marked: int | None) -> int | None:
    """The thread that runs the training loop.

    That of the step marks; else of the loader or optimizer ranges; else the one with the longest time inside ops or calls.

    Args:
        trace: The trace.
        marked: Thread of the step marks, if any.
    """
    if marked is not None:
        return marked
    mine = is_any(trace.annotations["kind"], "loader", "optimizer_step", "zero_grad")
    if mine.any():
        threads, times = np.unique(trace.annotations["thread"].to_numpy()[mine], return_counts=True)
        return int(threads[np.argmax(times)])
    for frame in (trace.ops, trace.runtime, trace.python, trace.annotations):
        if len(frame):
            totals = {thread: spans.total_ns for thread, spans in per_thread(frame).items()}
            return max(totals, key=lambda thread: (totals[thread], -thread))
    return None
