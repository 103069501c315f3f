"""Reading one trace file: the whole way from a path to a `Trace`."""

from __future__ import annotations

import gc
from pathlib import Path
from typing import Any

import pandas as pd

from traces.errors import UnreadableTraceError
from traces.progress import Progress, silent
from traces.reader import limits
from traces.reader.chunks import Chunks
from traces.reader.columns import Columns
from traces.reader.events import Event
from traces.reader.foreign import not_from_torch
from traces.reader.frames import FrameBuilder
from traces.reader.repairs import Repairs
from traces.reader.shapes import TypedEvents
from traces.reader.source import STDIN, Source
from traces.trace import Capability, Meta, Trace

# Frames whose events come from work, not from marks around it.
_WORK = ("steps", "ops", "runtime", "kernels", "copies", "python")


def read(path: Path, progress: Progress = silent, *, strict: bool = False) -> Trace:
    """Reads one Chrome trace as torch.profiler (any version) writes it.

    Args:
        path: `.json`, or that compressed (gzip, zstd, bzip2, xz); the content decides, not the name. `-` is the standard
            input.
        progress: Told how far reading is, in bytes on disk; raise from it to cancel.
        strict: Refuse a file that has to be repaired.

    Raises:
        UnreadableTraceError: The file is missing, damaged beyond repair or something else; the message says what and
            where.
    """
    repairs = Repairs("standard input" if path == STDIN else path.name, strict=strict)
    with Source(path, progress, repairs) as source:
        columns, chunks = _columns(source, repairs)
    if not columns.events:
        raise UnreadableTraceError(
            f"{source.name} holds no events",
            where=str(path),
            why="the profiler's schedule never reached its active steps, or the export came after they were cleared",
            fix="record with schedule(wait=..., warmup=..., active=..., repeat=1) and export in on_trace_ready",
        )
    builder = FrameBuilder(columns, repairs)
    frames = builder.frames()
    if not any(len(frame) for name, frame in frames.items() if name != "threads"):
        raise not_from_torch(source.name, columns)
    if repairs.count("truncated"):
        frames["steps"] = _whole_steps(frames, repairs)
    meta = Meta(
        name=source.name,
        sha256=source.sha256,
        size_bytes=source.size_bytes,
        events=columns.events,
        origin_ns=builder.origin_ns,
        base_ns=_integer(chunks.top.get("baseTimeNanoseconds")),
        device_kind=_device_kind(chunks.top, frames, columns.seen_categories),
        top=chunks.top,
    )
    notes = tuple(source.notes)
    notes += tuple(f"category {text} ({count} events)" for text, count in sorted(columns.unknown.items()))
    if chunks.bare_list:
        notes += ("the file is a bare list of events: device, rank and versions are not stated",)
    return Trace(meta=meta, capabilities=_capabilities(frames), repairs=repairs.listed(), notes=notes, **frames)


def _columns(source: Source, repairs: Repairs) -> tuple[Columns, Chunks[Event]]:
    """All events as columns; the decoder keeps what stood beside them."""
    columns = Columns(repairs)
    available = limits.available_bytes()
    # Events are dropped run by run and hold no cycles; the collector would only scan them again and again.
    collecting = gc.isenabled()
    gc.disable()
    try:
        chunks = Chunks(source.blocks(), source.name, repairs, TypedEvents(repairs))
        for events in chunks:
            columns.add(events)
            limits.check_memory(source.name, columns.size_bytes, available)
        columns.finish()
    finally:
        if collecting:
            gc.enable()
    return columns, chunks


def _whole_steps(frames: dict[str, pd.DataFrame], repairs: Repairs) -> pd.DataFrame:
    """Of a trace that was cut, the steps after which something still began; what the last one did may be lost."""
    steps = frames["steps"]
    latest = max((int(frames[name]["start_ns"].max()) for name in _WORK if len(frames[name])), default=0)
    partial = steps["end_ns"] > latest
    if partial.any():
        repairs.add("partial-step", count=int(partial.sum()))
    return steps[~partial].reset_index(drop=True)


def _integer(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _device_kind(top: dict[str, Any], frames: dict[str, pd.DataFrame], categories: list[Any]) -> str:
    """The accelerator by what the file states, else by the names of runtime calls (rules.md section 3)."""
    calls = frames["runtime"]["name"].cat.categories
    words = {str(category).lower().split("_")[0] for category in categories if category}
    for kind in ("mtia", "xpu"):
        if kind in words:
            return kind
    if "hip_runtime_version" in top or "roctracer_version" in top or any(name.startswith("hip") for name in calls):
        return "rocm"
    if any(name.startswith("cu") for name in calls) or "cuda_runtime_version" in top:
        return "cuda"
    devices = top.get("deviceProperties")
    if isinstance(devices, list) and any(isinstance(item, dict) and "computeMajor" in item for item in devices):
        return "cuda"
    has_device_work = len(frames["kernels"]) or len(frames["copies"])
    return "other" if has_device_work else "cpu"


def _capabilities(frames: dict[str, pd.DataFrame]) -> frozenset[Capability]:
    found = set()
    ops, kernels, runtime = frames["ops"], frames["kernels"], frames["runtime"]
    if len(ops):
        found.add(Capability.HOST_OPS)
    if len(kernels) or len(frames["copies"]):
        found.add(Capability.DEVICE)
    if len(kernels) and kernels["correlation"].isin(runtime["correlation"].dropna()).any():
        found.add(Capability.LAUNCHES)
    if len(frames["steps"]):
        found.add(Capability.STEPS)
    if _says_shapes(ops):
        found.add(Capability.SHAPES)
    if len(frames["python"]) or ops["stack"].notna().any():
        found.add(Capability.STACKS)
    if len(frames["memory"]):
        found.add(Capability.MEMORY)
    return frozenset(found)


def _says_shapes(ops: pd.DataFrame) -> bool:
    """Whether any op states a shape or a type; torch 1.8 writes empty lists where nothing was recorded."""
    types = ops["input_types"].cat.categories
    dims = ops["input_dims"].cat.categories
    return any(any(c.isalpha() for c in text) for text in types) or any(any(c.isdigit() for c in text) for text in dims)
