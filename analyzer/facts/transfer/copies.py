"""Copies between host and device in the used steps: their calls, their time beside no kernel, their speed."""

from __future__ import annotations

from functools import cached_property

import msgspec
import numpy as np
import pandas as pd

from analyzer.facts.device.launches import calls_of
from analyzer.facts.device.section import DeviceFacts
from analyzer.facts.steps.find import Steps
from analyzer.facts.sync.section import SyncFacts
from analyzer.spans.grouping import chosen
from analyzer.spans.intervals import IntervalSet
from analyzer.spans.labels import is_any
from traces.trace import Trace

# Copies below this are staged by the driver whatever the memory is, and cost a call, not bandwidth.
SMALL_BYTES = 64 * 1024
# Only copies of this size tell the bandwidth of the link; smaller ones measure its latency.
_FULL_SPEED_BYTES = 1024 * 1024
# Pinned host-to-device bandwidth reached in practice, bytes a ns, by PCIe generation 3, 4, 5 (rules.md XF001).
_LINK_BYTES_PER_NS = {7: 12.0, 8: 24.0, 9: 50.0}


class Transfers(msgspec.Struct, frozen=True, dict=True):
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
        return self._by_direction[direction]

    @cached_property
    def _by_direction(self) -> dict[str, pd.DataFrame]:
        stated = self.frame["direction"]
        return {one: chosen(self.frame, is_any(stated, one)) for one in ("HtoD", "DtoH", "DtoD")}


def transfers(trace: Trace, device: DeviceFacts, steps: Steps) -> Transfers:
    """Joins copies with their calls."""
    copies = trace.copies
    here = steps.window.contains(copies["start_ns"].to_numpy())
    if device.main is not None:
        here &= copies["device"].to_numpy() == device.main.device
    rows = np.flatnonzero(here)
    call = calls_of(device.launched, "copies", rows, len(copies))
    stated = ("direction", "host_memory", "size_bytes", "stream", "start_ns", "end_ns", "dur_ns")
    of_call = {"call_start_ns": call.start_ns, "call_end_ns": call.end_ns, "call_thread": call.thread}
    frame = pd.DataFrame(
        {
            **{name: copies[name].array[rows] for name in stated},
            **{name: pd.arrays.IntegerArray(values, ~call.known) for name, values in of_call.items()},
        },
        index=rows,
    )
    streams = np.unique(trace.kernels["stream"].to_numpy())
    return Transfers(frame, frozenset(streams.tolist()))


def device_time(copies: pd.DataFrame) -> IntervalSet:
    """When the copies run on the device."""
    return IntervalSet.of_rows(copies)


def hideable(exposed: IntervalSet, computing: IntervalSet, steps: Steps) -> IntervalSet:
    """Copies beside no kernel, those of a used step shortened to as long as something computes in it that could hide them.

    Args:
        exposed: When copies run beside no kernel, inside the used steps.
        computing: When something computes beside no such copy.
        steps: The steps.
    """
    start, end = steps.used["start_ns"].to_numpy(), steps.used["end_ns"].to_numpy()
    lost = exposed.overlap_with(start, end)
    ratio = np.minimum(computing.overlap_with(start, end) / np.maximum(lost, 1), 1.0)
    step = np.clip(np.searchsorted(start, exposed.start_ns, side="right") - 1, 0, None)
    length = ((exposed.end_ns - exposed.start_ns) * ratio[step]).astype(np.int64)
    return IntervalSet(exposed.start_ns, exposed.start_ns + length)


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


def pinned_bandwidth(trace: Trace, transfers: Transfers) -> tuple[float, str]:
    """What pinned copies to the device reach, bytes a ns, and how that is known: from this trace, else from the device's age."""
    to_device = transfers.of("HtoD")
    seen = bandwidth(to_device[(to_device["host_memory"] == "pinned").to_numpy()])
    if seen is not None:
        return seen, "pinned copies in this trace"
    majors = [item.get("computeMajor") for item in trace.meta.devices]
    major = next((value for value in majors if isinstance(value, int)), 7)
    known = _LINK_BYTES_PER_NS[min(max(major, 7), 9)]
    return known, "a link of the device's generation"


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


def blocked_after(steps: Steps, sync: SyncFacts, transfers: Transfers, copies: pd.DataFrame) -> BlockedAfter:
    """The waits that follow these copies in the same op; each wait belongs to the last copy to the device before it."""
    waits = sync.waits
    mine = (waits.calls["reason"] == "copy_in").to_numpy()
    calls = waits.calls[mine]
    until = waits.territory_end_ns[mine]
    every = transfers.of("HtoD")
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
        IntervalSet(start, end) & steps.window, waits.sync & IntervalSet(start, until[chosen]), int(chosen.sum())
    )
