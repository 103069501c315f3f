"""Copies between host and device in the used steps: their calls, their time beside no kernel, their speed."""

from __future__ import annotations

import math
from functools import cached_property

import msgspec
import numpy as np
import pandas as pd

from analyzer.facts.device.launches import calls_of
from analyzer.facts.device.section import DeviceFacts
from analyzer.facts.steps.find import Steps
from analyzer.facts.sync.removable import removable_of
from analyzer.facts.sync.section import SyncFacts
from analyzer.spans.arrays import Int64Array
from analyzer.spans.columns import present
from analyzer.spans.grouping import chosen
from analyzer.spans.intervals import IntervalSet
from analyzer.spans.labels import is_any
from traces.fixed_frame import FixedFrame
from traces.trace import Trace

# Copies below this are staged by the driver whatever the memory is, and cost a call, not bandwidth.
SMALL_BYTES = 64 * 1024
# Only copies of this size tell the bandwidth of the link; smaller ones measure its latency.
_FULL_SPEED_BYTES = 1024 * 1024
# So many copies make a pattern; between two pieces of a model run the kernels of one module or one layer, not those of a step.
_MIN_PIECES, _MAX_BETWEEN = 16, 20
# A batch has a few parts, at most some dozens; a model has a parameter or more for each of its layers.
_MIN_PARAMETERS = 64
# Pinned host-to-device bandwidth reached in practice, bytes a ns, by PCIe generation 3, 4, 5 (rules.md XF001).
_LINK_BYTES_PER_NS = {7: 12.0, 8: 24.0, 9: 50.0}


class Copies(msgspec.Struct, frozen=True):
    """Some copies of the used steps.

    Args:
        frame: One row per copy: direction, host_memory, size_bytes (Int64), stream, start_ns, end_ns, dur_ns, and, where the call
            is in the trace, call_start_ns, call_end_ns, call_thread (Int64, else NA).
    """

    frame: pd.DataFrame

    def __len__(self) -> int:
        return len(self.frame)

    @property
    def time(self) -> IntervalSet:
        """When they run on the device."""
        return IntervalSet.of_rows(self.frame)

    @property
    def device_ns(self) -> int:
        """How long they run, each for itself."""
        return int(self.frame["dur_ns"].sum())

    @property
    def with_call(self) -> pd.DataFrame:
        """Those whose call is in the trace."""
        return chosen(self.frame, present(self.frame["call_start_ns"]))

    @property
    def call_time(self) -> IntervalSet:
        """When the host is inside their calls."""
        known = self.with_call
        return IntervalSet(known["call_start_ns"].to_numpy(np.int64), known["call_end_ns"].to_numpy(np.int64))

    @property
    def bytes(self) -> int:
        """Bytes moved; copies of unknown size count as nothing."""
        return int(self._sizes.sum())

    @property
    def largest_bytes(self) -> int:
        """Size of the largest; 0 without any."""
        return int(self._sizes.max()) if len(self) else 0

    @property
    def median_bytes(self) -> float:
        """Size of the median copy; one of unknown size counts as empty, and NaN stands for no copy at all."""
        return float(np.median(self._sizes)) if len(self) else math.nan

    @property
    def bandwidth(self) -> float | None:
        """Bytes a nanosecond (GB/s) of those large enough to tell; None where there is none."""
        large = self.of_size(_FULL_SPEED_BYTES)
        return large.bytes / large.device_ns if large.device_ns else None

    @property
    def states_memory(self) -> bool:
        """Whether the trace says of any of them what memory of the host it uses."""
        return not is_any(self.frame["host_memory"], "unknown").all()

    def of_memory(self, kind: str) -> Copies:
        """Those from or to `pinned` or `pageable` memory."""
        return Copies(chosen(self.frame, is_any(self.frame["host_memory"], kind)))

    def of_size(self, least: float, below: float = np.inf) -> Copies:
        """Those of at least so many bytes, and fewer than some."""
        return Copies(chosen(self.frame, (self._sizes >= least) & (self._sizes < below)))

    def of(self, *directions: str) -> Copies:
        """Those of some directions: HtoD, DtoH or DtoD."""
        return Copies(chosen(self.frame, is_any(self.frame["direction"], *directions)))

    def by_direction(self) -> tuple[tuple[str, Copies], ...]:
        """Directions, sorted, with their copies."""
        groups = self.frame.groupby("direction", sort=True, observed=True)
        return tuple((str(direction), Copies(part)) for direction, part in groups)

    def beside(self, streams: frozenset[int]) -> Copies:
        """Those on other streams."""
        return Copies(self.frame[~self.frame["stream"].isin(list(streams)).to_numpy(dtype=bool)])

    def called_outside(self, spans: IntervalSet) -> Copies:
        """Those whose call does not begin in some time of the host; one without a call is outside."""
        called = self.frame["call_start_ns"].to_numpy(np.int64, na_value=-1)
        return Copies(chosen(self.frame, ~spans.contains(called)))

    def none(self) -> Copies:
        """None of them."""
        return Copies(self.frame.iloc[:0])

    @property
    def _sizes(self) -> Int64Array:
        return self.frame["size_bytes"].to_numpy(dtype=np.int64, na_value=0)


class Transfers(msgspec.Struct, frozen=True, dict=True):
    """Copies that begin in the used steps on the device that stands for the trace.

    Args:
        all: They.
        compute_streams: Streams that run kernels.
    """

    all: Copies
    compute_streams: frozenset[int]

    @cached_property
    def to_device(self) -> Copies:
        """Those from the host to the device."""
        return self.all.of("HtoD")

    @cached_property
    def within(self) -> Copies:
        """Those within the device."""
        return self.all.of("DtoD")


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
    frame = FixedFrame(
        {
            **{name: copies[name].array[rows] for name in stated},
            **{name: pd.arrays.IntegerArray(values, ~call.known) for name, values in of_call.items()},
        },
        index=rows,
        copy=False,
    )
    streams = np.unique(trace.kernels["stream"].to_numpy())
    return Transfers(Copies(frame), frozenset(streams.tolist()))


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


def pinned_bandwidth(trace: Trace, transfers: Transfers) -> tuple[float, str]:
    """What pinned copies to the device reach, bytes a ns, and how that is known: from this trace, else from the device's age."""
    seen = transfers.to_device.of_memory("pinned").bandwidth
    if seen is not None:
        return seen, "pinned copies in this trace"
    majors = [item.get("computeMajor") for item in trace.meta.devices]
    major = next((value for value in majors if isinstance(value, int)), 7)
    known = _LINK_BYTES_PER_NS[min(max(major, 7), 9)]
    return known, "a link of the device's generation"


def piece_by_piece(device: DeviceFacts, trace: Trace, to_device: Copies) -> bool:
    """Whether large copies to the device take turns with kernels: no batch travels so, but what is kept on the host for room does.

    Args:
        device: Work of the devices.
        trace: The trace.
        to_device: Copies to the device.
    """
    between = _kernels_between(device, trace, to_device)
    return len(between) + 1 >= _MIN_PIECES and bool(1 <= np.median(between) <= _MAX_BETWEEN)


def whole_models(device: DeviceFacts, trace: Trace, to_device: Copies) -> bool:
    """Whether more large copies than a batch has parts come one after the other, again and again: a model that is sent each time.

    Args:
        device: Work of the devices.
        trace: The trace.
        to_device: Copies to the device.
    """
    between = _kernels_between(device, trace, to_device)
    if not len(between):
        return False
    runs = np.diff(np.concatenate([[-1], np.flatnonzero(between), [len(between)]]))
    # Once is loading it.
    long = runs[runs >= _MIN_PARAMETERS]
    return len(long) > 1 and bool(2 * long.sum() > runs.sum())


def _kernels_between(device: DeviceFacts, trace: Trace, to_device: Copies) -> Int64Array:
    """How many kernels start between each large copy to the device and the next; empty where there is no such pair."""
    large = to_device.of_size(_FULL_SPEED_BYTES)
    if len(large) < 2 or device.main is None:
        return np.empty(0, dtype=np.int64)
    kernels = trace.kernels
    starts = np.sort(kernels["start_ns"].to_numpy()[kernels["device"].to_numpy() == device.main.device], kind="stable")
    between: Int64Array = np.diff(np.searchsorted(starts, np.sort(large.frame["start_ns"].to_numpy())))
    return between


class BlockedAfter(msgspec.Struct, frozen=True):
    """Waiting that copies to the device cause after their call: `.to()` without `non_blocking=True` synchronises the stream.

    Args:
        host: Host time inside the waits.
        owned: Device-idle time the waits own.
        removable: Device-idle time that may end with them; see `removable.removable_of`.
        number: How many of the copies are waited for.
    """

    host: IntervalSet
    owned: IntervalSet
    removable: IntervalSet
    number: int


def blocked_after(steps: Steps, sync: SyncFacts, transfers: Transfers, copies: Copies) -> BlockedAfter:
    """The waits that follow these copies in the same op; each wait belongs to the last copy to the device before it."""
    waits = sync.waits
    waiting = (waits.calls["reason"] == "copy_in").to_numpy()
    lane, start, end = (waits.calls[name].to_numpy() for name in ("thread", "start_ns", "end_ns"))
    every = transfers.to_device.with_call
    wanted = every.index.isin(copies.frame.index)
    going = np.zeros(len(waits.calls), dtype=np.bool_)
    threads, ended = (every[name].to_numpy(np.int64) for name in ("call_thread", "call_end_ns"))
    for thread in np.unique(threads).tolist() if waiting.any() else ():
        rows = np.flatnonzero(threads == thread)
        rows = rows[np.argsort(ended[rows], kind="stable")]
        here = np.flatnonzero(waiting & (lane == thread))
        before = np.searchsorted(ended[rows], start[here], side="right") - 1
        found = before >= 0
        going[here[found]] = wanted[rows[before[found]]]
    start, end, until = start[going], end[going], waits.territory_end_ns[going]
    return BlockedAfter(
        host=IntervalSet(start, end) & steps.window,
        owned=waits.sync & IntervalSet(start, until),
        removable=removable_of(waits, going),
        number=int(going.sum()),
    )
