"""Device memory: calls that allocate it while training, and how full it gets."""

from __future__ import annotations

import msgspec
import numpy as np
import pandas as pd

from analyzer.facts.device.launches import LAUNCHING
from analyzer.facts.device.section import DeviceFacts
from analyzer.facts.health.section import HealthFacts
from analyzer.facts.steps.find import Steps
from analyzer.facts.time.section import TimeFacts
from analyzer.spans.arrays import BoolArray, Int64Array
from analyzer.spans.columns import present
from analyzer.spans.grouping import chosen
from analyzer.spans.intervals import IntervalSet
from analyzer.spans.labels import distinct_texts, is_any
from analyzer.spans.moments import moments_in
from traces.trace import Trace

# c10::DeviceType of CUDA and ROCm devices.
_CUDA = 1

_MOST = 0.5
# The driver's calls by which segments grow and shrink (c10/cuda/CUDACachingAllocator.cpp: `ExpandableSegment`).
_MAPPING = r"(?:cu|hip)Mem(?:Create|Map|Unmap|Release|SetAccess|AddressReserve|AddressFree)$"
_FREEING = r"Free|Unmap|Release"
# Calls that allocate, register or give back memory of the host.
_PINNING = r"Host(?:Alloc|Malloc|Register|Unregister|Free)|FreeHost|MallocHost"

_PINS = ("aten::pin_memory", "aten::_pin_memory")


class Allocations(msgspec.Struct, frozen=True):
    """Allocator calls of the used steps after the first one; all empty where there is but one.

    Where warm-up takes enough of the steps to be worth a word (PG002), its calls are left out: what is left is what steps do again
    and again.

    Args:
        calls: Rows of `trace.runtime`.
        spans: When any of them runs.
        claims: The part of that in which the device idles because of them (cause `allocator`).
        steps: Steps looked at.
        steps_seen: Those with such a call.
        ratio: Share of those steps' time.
        empties_cache: Whether the program gives memory back itself: a stack shows `torch.cuda.empty_cache`, or most of what is
            freed is freed outside of ops, while ops ask for it.
        expands: Whether most of the calls map memory into segments that grow (`expandable_segments`).
        pins_tensors: Whether most calls for pinned memory are made for a tensor's `pin_memory()`.
        retries: How often memory of the device is asked for, then freed, and asked for again with nothing launched between, as
            where there is no more to be had.
        started: Allocator calls of those steps that were left out as warm-up.
        started_steps: Steps with such calls.
    """

    calls: pd.DataFrame
    spans: IntervalSet
    claims: IntervalSet
    steps: int
    steps_seen: int
    ratio: float
    empties_cache: bool
    retries: int
    expands: bool = False
    pins_tensors: bool = False
    started: int = 0
    started_steps: int = 0

    def __len__(self) -> int:
        return len(self.calls)

    @property
    def pinning(self) -> bool:
        """Whether most of the calls allocate pinned memory."""
        return self._pinning_ratio > 0.5

    @property
    def only_pinning(self) -> bool:
        """Whether none of the calls is for memory of the device."""
        return self._pinning_ratio == 1

    @property
    def _pinning_ratio(self) -> float:
        return float(_named(self.calls, _PINNING).mean())

    def longest(self, most: int) -> list[tuple[str, int, int]]:
        """The names that take most of the time: (name, number of calls, summed nanoseconds)."""
        names = self.calls["name"].astype("str")
        totals = self.calls.groupby(names)["dur_ns"].agg(["size", "sum"]).sort_values("sum", ascending=False).head(most)
        sums = zip(totals.index, totals["size"].to_numpy(), totals["sum"].to_numpy(), strict=True)
        return [(str(name), int(number), int(total)) for name, number, total in sums]


def allocations(trace: Trace, steps: Steps, time: TimeFacts, health: HealthFacts) -> Allocations:
    """Finds allocator calls in steady steps."""
    used = steps.used
    later = used.iloc[1:]
    start, end = later["start_ns"].to_numpy(), later["end_ns"].to_numpy()
    window = IntervalSet(start, end)
    calls = trace.runtime
    inside = is_any(calls["kind"], "allocator") & window.contains(calls["start_ns"].to_numpy())
    warming = inside & health.warmup.calls if "PG002" in health.doubted else np.zeros(len(calls), dtype=bool)
    at = calls["start_ns"].to_numpy()[warming]
    calls = chosen(calls, inside & ~warming)
    spans = IntervalSet.of_rows(calls) & window
    names = distinct_texts(trace.python["name"])
    return Allocations(
        calls=calls,
        spans=spans,
        claims=time.waterfall.owned("allocator") & spans,
        steps=len(later),
        steps_seen=steps.count_with(spans),
        ratio=spans.total_ns / window.total_ns if window else 0.0,
        empties_cache=any(name.endswith(": empty_cache") for name in names) or _given_back(trace, calls),
        retries=_retries(trace, calls),
        expands=bool(2 * np.count_nonzero(_named(calls, _MAPPING)) > len(calls)),
        pins_tensors=_pins_tensors(trace, calls),
        started=len(at),
        started_steps=int((moments_in(at, start, end) > 0).sum()),
    )


def _named(calls: pd.DataFrame, pattern: str) -> BoolArray:
    """Which calls have a name that a pattern finds something in, shape (calls,)."""
    found: BoolArray = calls["name"].astype("str").str.contains(pattern, regex=True).to_numpy(dtype=bool)
    return found


def _inside(ops: pd.DataFrame, calls: pd.DataFrame) -> BoolArray:
    """Which calls begin inside one of some ops on their thread, shape (calls,)."""
    thread, start = calls["thread"].to_numpy(), calls["start_ns"].to_numpy()
    inside = np.zeros(len(calls), dtype=bool)
    for one in np.unique(thread).tolist():
        mine = thread == one
        inside[mine] = IntervalSet.of_rows(ops, ops["thread"].to_numpy() == one).contains(start[mine])
    return inside


def _pins_tensors(trace: Trace, calls: pd.DataFrame) -> bool:
    """Whether most calls for pinned memory lie inside the op of a tensor's `pin_memory()`."""
    calls = chosen(calls, _named(calls, _PINNING))
    if not len(calls):
        return False
    return bool(_inside(chosen(trace.ops, is_any(trace.ops["name"], *_PINS)), calls).mean() > _MOST)


def _given_back(trace: Trace, calls: pd.DataFrame) -> bool:
    """Whether most of the device's memory is freed outside of ops, and most of it asked for inside: torch frees it in neither."""
    calls = chosen(calls, ~_named(calls, _PINNING))
    freed, inside = _named(calls, _FREEING), _inside(trace.ops, calls)
    return bool(freed.any() and inside[freed].mean() < _MOST and (~freed).any() and inside[~freed].mean() > _MOST)


def _retries(trace: Trace, calls: pd.DataFrame) -> int:
    """How often a thread asks for memory of the device, frees some, and asks again before it launches anything.

    Args:
        trace: The trace.
        calls: Allocator calls, rows of `trace.runtime`.
    """
    calls = chosen(calls, ~_named(calls, _PINNING))
    launches = chosen(trace.runtime, is_any(trace.runtime["kind"], *LAUNCHING))
    found = 0
    for thread, own in calls.groupby(calls["thread"].to_numpy()):
        own = own.sort_values("start_ns")
        freeing = _named(own, "Free")
        asked = np.flatnonzero(~freeing)
        at = np.searchsorted(
            np.sort(launches["start_ns"].to_numpy()[launches["thread"].to_numpy() == thread]),
            own["start_ns"].to_numpy()[asked],
        )
        found += int(((np.diff(asked) > 1) & (np.diff(at) == 0)).sum())
    return found


class DeviceMemory(msgspec.Struct, frozen=True):
    """How full the memory of the device that stands for the trace gets, from `profile_memory=True`.

    Args:
        peak_allocated_bytes: The most tensors held at once; None where not recorded.
        peak_reserved_bytes: The most the caching allocator held at once; None where not recorded.
        capacity_bytes: Memory of the card; None where the trace does not say.
        at_step_end: Allocated bytes at the end of each used step, int64; shorter than the steps where nothing was recorded before.
    """

    peak_allocated_bytes: int | None
    peak_reserved_bytes: int | None
    capacity_bytes: int | None
    at_step_end: np.ndarray[tuple[int], np.dtype[np.int64]]

    @property
    def grows(self) -> bool:
        """Whether more is allocated at the end of each step than at that of the one before."""
        return bool((np.diff(self.at_step_end) > 0).all())


def device_memory(trace: Trace, device: DeviceFacts, steps: Steps) -> DeviceMemory:
    """Reads the memory events of the device; every figure is None where there are none with totals."""
    number = device.main.device if device.main else 0
    memory = trace.memory
    if not len(memory):
        return DeviceMemory(None, None, _capacity(trace, number), np.empty(0, dtype=np.int64))
    start = memory["start_ns"].to_numpy()
    mine = memory["device_type"].to_numpy(dtype=np.float64, na_value=np.nan) == _CUDA
    mine &= memory["device_id"].to_numpy(dtype=np.int64, na_value=number) == number
    known = np.flatnonzero(mine & present(memory["allocated_bytes"]))
    known = known[np.argsort(start[known], kind="stable")]
    allocated = memory["allocated_bytes"].to_numpy(dtype=np.int64, na_value=0)
    last = np.searchsorted(start[known], steps.used["host_end_ns"].to_numpy(), side="right") - 1
    return DeviceMemory(
        peak_allocated_bytes=_peak(allocated[mine]),
        peak_reserved_bytes=_peak(memory["reserved_bytes"].to_numpy(dtype=np.int64, na_value=0)[mine]),
        capacity_bytes=_capacity(trace, number),
        at_step_end=allocated[known[last[last >= 0]]],
    )


def _peak(values: Int64Array) -> int | None:
    # Versions that do not state totals write 0 for them.
    return int(values.max(initial=0)) or None


def _capacity(trace: Trace, number: int) -> int | None:
    listed = trace.meta.devices
    mine = [item for item in listed if item.get("id") == number] or listed
    total = mine[0].get("totalGlobalMem") if mine else None
    return total if isinstance(total, int) and not isinstance(total, bool) and total > 0 else None
