"""Copies between host and device in the used steps: their calls, their time beside no kernel, their speed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import numpy as np
import pandas as pd

from analyzer.intervals import IntervalSet

if TYPE_CHECKING:
    from analyzer.facts import Facts

# Copies below this are staged by the driver whatever the memory is, and cost a call, not bandwidth.
SMALL_BYTES = 64 * 1024
# Only copies of this size tell the bandwidth of the link; smaller ones measure its latency.
_FULL_SPEED_BYTES = 1024 * 1024
# Pinned host-to-device bandwidth reached in practice, bytes a ns, by PCIe generation 3, 4, 5 (rules.md XF001).
_LINK_BYTES_PER_NS = {7: 12.0, 8: 24.0, 9: 50.0}


class Transfers(msgspec.Struct, frozen=True):
    """Copies that begin in the used steps on the device that stands for the trace.

    Args:
        frame: One row per copy: direction, host_memory, size_bytes (Int64), stream, start_ns, end_ns, dur_ns, and, where the call
            is in the trace, call_start_ns, call_end_ns, call_thread (Int64, else NA).
        compute_streams: Streams that run kernels.
    """

    frame: pd.DataFrame
    compute_streams: frozenset[int]

    def of(self, direction: str) -> pd.DataFrame:
        """The copies of one direction: HtoD, DtoH or DtoD."""
        return self.frame[(self.frame["direction"] == direction).to_numpy(dtype=bool)]


def transfers(facts: Facts) -> Transfers:
    """Joins copies with their calls."""
    copies, launched = facts.trace.copies, facts.launched
    mine = launched[(launched["source"] == "copies").to_numpy()]
    calls = mine.drop_duplicates("row").set_index("row")[["launch_start_ns", "launch_end_ns", "launch_thread"]]
    frame = pd.DataFrame(
        {
            "direction": copies["direction"].array,
            "host_memory": copies["host_memory"].array,
            "size_bytes": copies["size_bytes"].array,
            "stream": copies["stream"].to_numpy(),
            "start_ns": copies["start_ns"].to_numpy(),
            "end_ns": copies["end_ns"].to_numpy(),
            "dur_ns": copies["dur_ns"].to_numpy(),
            "call_start_ns": calls["launch_start_ns"].reindex(range(len(copies))).astype("Int64").array,
            "call_end_ns": calls["launch_end_ns"].reindex(range(len(copies))).astype("Int64").array,
            "call_thread": calls["launch_thread"].reindex(range(len(copies))).astype("Int64").array,
        }
    )
    here = facts.window().contains(frame["start_ns"].to_numpy())
    if facts.device is not None:
        here &= copies["device"].to_numpy() == facts.device.device
    kernels = facts.trace.kernels
    return Transfers(frame[here], frozenset(int(stream) for stream in kernels["stream"].unique()))


def device_time(copies: pd.DataFrame) -> IntervalSet:
    """When the copies run on the device."""
    return IntervalSet(copies["start_ns"].to_numpy(), copies["end_ns"].to_numpy())


def call_time(copies: pd.DataFrame) -> IntervalSet:
    """When the host is inside the calls of these copies."""
    known = copies[copies["call_start_ns"].notna().to_numpy()]
    return IntervalSet(known["call_start_ns"].to_numpy(np.int64), known["call_end_ns"].to_numpy(np.int64))


def total_bytes(copies: pd.DataFrame) -> int:
    """Bytes moved; copies of unknown size count as nothing."""
    return int(copies["size_bytes"].fillna(0).sum())


def bandwidth(copies: pd.DataFrame) -> float | None:
    """Bytes a nanosecond (GB/s) of copies large enough to tell; None where there is none."""
    large = copies[(copies["size_bytes"].fillna(0) >= _FULL_SPEED_BYTES).to_numpy(dtype=bool)]
    time = int(large["dur_ns"].sum())
    return total_bytes(large) / time if time else None


def pinned_bandwidth(facts: Facts) -> tuple[float, str]:
    """What pinned copies to the device reach, bytes a ns, and how that is known: from this trace, else from the device's age."""
    to_device = facts.transfers.of("HtoD")
    seen = bandwidth(to_device[(to_device["host_memory"] == "pinned").to_numpy()])
    if seen is not None:
        return seen, "pinned copies in this trace"
    majors = [item.get("computeMajor") for item in facts.trace.meta.devices]
    major = next((value for value in majors if isinstance(value, int)), 7)
    known = _LINK_BYTES_PER_NS[min(max(major, 7), 9)]
    return known, "a link of the device's generation"


def steps_touched(facts: Facts, copies: pd.DataFrame) -> int:
    """Used steps in which at least one of the copies begins."""
    starts = np.sort(copies["start_ns"].to_numpy())
    used = facts.steps.used
    first = np.searchsorted(starts, used["start_ns"].to_numpy(), side="left")
    return int((np.searchsorted(starts, used["end_ns"].to_numpy(), side="left") > first).sum())


class BlockedAfter(msgspec.Struct, frozen=True):
    """Waiting that copies to the device cause after their call: `.to()` without `non_blocking=True` synchronises the stream.

    Args:
        host: Host time inside the waits.
        owned: Device-idle time the waits own.
        number: How many of the copies are waited for.
    """

    host: IntervalSet
    owned: IntervalSet
    number: int


def blocked_after(facts: Facts, copies: pd.DataFrame) -> BlockedAfter:
    """The waits that follow these copies in the same op; each wait belongs to the last copy to the device before it."""
    waits = facts.waits
    mine = (waits.calls["reason"] == "copy_in").to_numpy()
    calls = waits.calls[mine]
    until = waits.territory_end_ns[mine]
    every = facts.transfers.of("HtoD")
    every = every[every["call_end_ns"].notna().to_numpy()]
    wanted = every.index.isin(copies.index)
    chosen = np.zeros(len(calls), dtype=bool)
    threads = every["call_thread"].to_numpy(np.int64)
    for thread in np.unique(threads).tolist():
        rows = np.flatnonzero(threads == thread)
        ends = every["call_end_ns"].to_numpy(np.int64)[rows]
        order = np.argsort(ends, kind="stable")
        here = np.flatnonzero((calls["thread"] == thread).to_numpy())
        before = np.searchsorted(ends[order], calls["start_ns"].to_numpy()[here], side="right") - 1
        found = before >= 0
        chosen[here[found]] = wanted[rows[order[before[found]]]]
    start, end = calls["start_ns"].to_numpy()[chosen], calls["end_ns"].to_numpy()[chosen]
    return BlockedAfter(
        IntervalSet(start, end) & facts.window(), waits.sync & IntervalSet(start, until[chosen]), int(chosen.sum())
    )
