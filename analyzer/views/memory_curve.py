"""Allocated memory over time per device, and which ops allocate most. Needs `profile_memory=True`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import numpy as np
import pandas as pd

from analyzer.spans.arrays import Int64Array
from analyzer.spans.span_tree import innermost
from traces.trace import Trace

if TYPE_CHECKING:
    from analyzer.facts import Facts


# Points kept of a curve: more than any terminal has columns.
MOST_POINTS = 512
MOST_ALLOCATORS = 100
# c10::DeviceType 0.
_CPU = 0


class Allocator(msgspec.Struct, frozen=True):
    """An op with what it allocates in the used steps.

    Args:
        name: The innermost op around the allocation; empty where there is none.
        size_bytes: Allocated per step, freed or not.
        calls: Allocations per step.
        largest_bytes: The largest single one.
        shape: Input shapes of the op with the largest one, where recorded.
    """

    name: str
    size_bytes: int
    calls: float
    largest_bytes: int
    shape: str


class MemoryCurve(msgspec.Struct, frozen=True):
    """Memory of one device.

    Args:
        device: `GPU 0` or `CPU`.
        start_ns: Time of the first point.
        end_ns: Time of the last point.
        allocated_bytes: The highest value in each of equal pieces of that time.
        reserved_bytes: The same of what the allocator holds; empty where not recorded.
        peak_bytes: The highest value.
        peak_step: The step it was reached in; None outside steps.
        relative: Whether the values count from the first event, because the trace states no totals.
        step_numbers: The steps.
        step_starts_ns: Where they begin.
        allocators: Ops by what they allocate, most first.
    """

    device: str
    start_ns: int
    end_ns: int
    allocated_bytes: tuple[int, ...]
    reserved_bytes: tuple[int, ...]
    peak_bytes: int
    peak_step: int | None
    relative: bool
    step_numbers: tuple[int, ...]
    step_starts_ns: tuple[int, ...]
    allocators: tuple[Allocator, ...]


def memory_curves(facts: Facts) -> tuple[MemoryCurve, ...]:
    """One curve per device, accelerators first; empty where memory was not recorded."""
    memory = facts.trace.memory
    memory = memory[memory["delta_bytes"].notna()]
    kind = memory["device_type"].fillna(_CPU).to_numpy(dtype=np.int64)
    number = memory["device_id"].fillna(0).to_numpy(dtype=np.int64)
    pairs, group = np.unique(np.stack([kind, number], axis=1), axis=0, return_inverse=True)
    found = [
        _curve(facts, memory[group.reshape(-1) == index], _device_name(*pair))
        for index, pair in enumerate(pairs.tolist())
    ]
    return tuple(sorted(found, key=lambda curve: (curve.device == "CPU", curve.device)))


def _device_name(kind: int, number: int) -> str:
    return "CPU" if kind == _CPU else f"GPU {max(number, 0)}"


def _curve(facts: Facts, memory: pd.DataFrame, device: str) -> MemoryCurve:
    memory = memory.sort_values("start_ns", kind="stable")
    at = memory["start_ns"].to_numpy()
    totals = memory["allocated_bytes"]
    relative = bool(totals.isna().all())
    if relative:
        allocated = np.cumsum(memory["delta_bytes"].to_numpy(dtype=np.int64))
        # What was there before the first event is unknown: the lowest point counts as nothing.
        allocated = allocated - min(int(allocated.min()), 0)
    else:
        allocated = totals.ffill().bfill().to_numpy(dtype=np.int64)
    reserved = memory["reserved_bytes"]
    has_reserved = bool((reserved.fillna(0) > 0).any())
    top = int(np.argmax(allocated))
    frame = facts.steps.frame
    starts, ends = frame["start_ns"].to_numpy(), frame["end_ns"].to_numpy()
    step = int(np.searchsorted(starts, at[top], side="right")) - 1
    in_step = step >= 0 and at[top] < ends[step]
    return MemoryCurve(
        device=device,
        start_ns=int(at[0]),
        end_ns=int(at[-1]),
        allocated_bytes=_highest(at, allocated),
        reserved_bytes=_highest(at, reserved.ffill().bfill().to_numpy(dtype=np.int64)) if has_reserved else (),
        peak_bytes=int(allocated[top]),
        peak_step=int(frame["number"].iloc[step]) if in_step else None,
        relative=relative,
        step_numbers=tuple(frame["number"].tolist()),
        step_starts_ns=tuple(starts.tolist()),
        allocators=_allocators(facts, memory),
    )


def _highest(at: Int64Array, values: Int64Array) -> tuple[int, ...]:
    """The highest value in each of equal pieces of time; where nothing happens the last value stands."""
    count = min(MOST_POINTS, max(len(at), 1))
    length = max(int(at[-1] - at[0]), 1)
    piece = np.minimum((at - at[0]) * count // length, count - 1)
    last = np.searchsorted(piece, np.arange(count), side="right") - 1
    highest = values[np.maximum(last, 0)].copy()
    np.maximum.at(highest, piece, values)
    return tuple(highest.tolist())


def _allocators(facts: Facts, memory: pd.DataFrame) -> tuple[Allocator, ...]:
    size = memory["delta_bytes"].to_numpy(dtype=np.int64)
    mine = (size > 0) & facts.steps.host_window.contains(memory["start_ns"].to_numpy())
    memory, size = memory[mine], size[mine]
    if not len(memory):
        return ()
    ops = facts.trace.ops
    threads = _by_text(facts.trace)[memory["thread"].to_numpy()]
    row = innermost(
        ops.assign(thread=_by_text(facts.trace)[ops["thread"].to_numpy()]), threads, memory["start_ns"].to_numpy()
    )
    names = np.where(row >= 0, ops["name"].astype("object").to_numpy()[row] if len(ops) else "", "")
    frame = pd.DataFrame({"name": names, "size": size, "row": row}).sort_values("size", ascending=False, kind="stable")
    sums = frame.groupby("name", sort=True, observed=True).agg(
        total=("size", "sum"), calls=("size", "size"), largest=("size", "max"), row=("row", "first")
    )
    sums = sums.sort_values("total", ascending=False, kind="stable")[:MOST_ALLOCATORS]
    shapes = ops["input_dims"]
    steps = max(facts.steps.count, 1)
    return tuple(
        Allocator(
            name=str(name), size_bytes=total // steps, calls=calls / steps, largest_bytes=largest,
            shape=str(shapes.iloc[at]) if at >= 0 and not pd.isna(shapes.iloc[at]) else "",
        )
        for name, (total, calls, largest, at) in zip(sums.index.tolist(), sums.to_numpy().tolist(), strict=True)
    )  # fmt: skip


def _by_text(trace: Trace) -> Int64Array:
    """For each thread the first one with the same ids: a file may spell one thread's id as number here and as text there."""
    threads = trace.threads
    first = threads.groupby(["pid", "tid"], sort=False, dropna=False).ngroup().to_numpy()
    return np.asarray(first, dtype=np.int64)
