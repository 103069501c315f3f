"""What each host thread does when, as interval sets per thread, and which calls block it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

import numpy as np
import pandas as pd

from analyzer.intervals import EMPTY, IntervalSet
from traces.trace import Trace


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

    @cached_property
    def calls(self) -> pd.DataFrame:
        """Runtime calls with what they do to the host.

        Returns:
            The runtime frame plus `direction` (of the copy the call starts; NA else), `device_ns` (duration of that copy on the
            device, 0 else), and `blocking` (bool): whether the call makes the host wait for the device (hostblock of rules.md
            2.0): synchronisations, calls that copy device to host, and copies that are synchronous by name. Host-to-device
            calls are not blocking here, even where the runtime stages them: they are `transfer_call`, whose fix differs.
        """
        runtime = self._trace.runtime
        copies = self._launched[(self._launched["kind"] == "copy") & (self._launched["source"] == "copies")]
        per_call = copies.drop_duplicates("launch_row").set_index("launch_row")
        known = pd.Series(self._trace.copies["direction"].array[per_call["row"].to_numpy()], index=per_call.index)
        directions = known.reindex(runtime.index)
        device_ns = per_call["dur_ns"].reindex(runtime.index).fillna(0).astype(np.int64)
        synchronous = runtime["name"].isin(
            ["cudaMemcpy", "hipMemcpy", "hipMemcpyWithStream", "cudaMemcpy2D", "hipMemcpyDtoH"]
        )
        moves_out = directions == "DtoH"
        blocking = ((runtime["kind"] == "sync") | moves_out | (synchronous & ~directions.isin(["HtoD"]))).to_numpy(
            dtype=bool
        )
        return runtime.assign(direction=directions, device_ns=device_ns, blocking=blocking)

    @cached_property
    def _by_thread(self) -> Mapping[str, dict[int, IntervalSet]]:
        trace, calls = self._trace, self.calls
        kinds = calls["kind"]
        to_device = calls["direction"] == "HtoD"
        ranges = trace.annotations
        optimizer = ranges["kind"].isin(["optimizer_step", "zero_grad"])
        frames = {
            "input": ranges[ranges["kind"] == "loader"],
            "allocator": calls[kinds == "allocator"],
            "blocking": calls[calls["blocking"]],
            "transfer_call": calls[to_device],
            "optimizer": ranges[optimizer],
            "compile": ranges[ranges["kind"] == "compile"],
            "launch": calls[kinds.isin(["launch", "graph_launch", "memcpy", "memset"])],
            "ops": trace.ops,
            "calls": calls,
            "collectives": trace.collectives,
        }
        spans = {name: per_thread(frame) for name, frame in frames.items()}
        for thread, making in self._preparing.items():
            spans["input"][thread] = spans["input"].get(thread, EMPTY) | making
        return spans

    def during(self, what: str, thread: int) -> IntervalSet:
        """When a thread is inside `what`.

        Args:
            what: input, allocator, blocking, transfer_call, optimizer, compile, launch, ops, calls or collectives.
            thread: Row in `trace.threads`.
        """
        return self._by_thread[what].get(thread, EMPTY)

    def anywhere(self, what: str) -> IntervalSet:
        """When any thread is inside `what`."""
        result = EMPTY
        for part in self._by_thread[what].values():
            result |= part
        return result

    def after_blocking(self, thread: int, kernel_starts: np.ndarray[tuple[int], np.dtype[np.int64]]) -> IntervalSet:
        """From the end of each blocking call of a thread to the first kernel that starts later.

        Args:
            thread: The thread.
            kernel_starts: Starts of the device's kernels, sorted.
        """
        calls = self.calls
        ends = calls["end_ns"].to_numpy()[(calls["blocking"] & (calls["thread"] == thread)).to_numpy()]
        if not len(kernel_starts):
            return EMPTY
        index = np.searchsorted(kernel_starts, ends, side="left")
        exists = index < len(kernel_starts)
        return IntervalSet(ends[exists], kernel_starts[index[exists]])


def per_thread(frame: pd.DataFrame) -> dict[int, IntervalSet]:
    """Union of a host frame's spans per thread."""
    groups = frame.groupby("thread", sort=False).indices
    start, end = frame["start_ns"].to_numpy(), frame["end_ns"].to_numpy()
    return {int(thread): IntervalSet(start[rows], end[rows]) for thread, rows in groups.items()}  # type: ignore[call-overload]


def main_thread(trace: Trace, marked: int | None) -> int | None:
    """The thread that runs the training loop.

    That of the step marks; else of the loader or optimizer ranges; else the one with the longest time inside ops or calls.

    Args:
        trace: The trace.
        marked: Thread of the step marks, if any.
    """
    if marked is not None:
        return marked
    ranges = trace.annotations[trace.annotations["kind"].isin(["loader", "optimizer_step", "zero_grad"])]
    if len(ranges):
        return int(ranges["thread"].mode().iloc[0])
    for frame in (trace.ops, trace.runtime, trace.python, trace.annotations):
        if len(frame):
            totals = {thread: spans.total_ns for thread, spans in per_thread(frame).items()}
            return max(totals, key=lambda thread: (totals[thread], -thread))
    return None
