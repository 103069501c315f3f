"""Reading one trace file: the whole way from a path to a `Trace`."""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd

from traces.errors import UnreadableTraceError
from traces.progress import Progress, event_counter, silent
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
    return _documents(path, progress, strict=strict, several=False)[0]


def read_every(path: Path, progress: Progress = silent, *, strict: bool = False) -> tuple[Trace, ...]:
    """Reads every document of a file into which several ranks wrote, one after another.

    They count as ranks if they state different ranks, or none at all: then their order numbers them. Of anything else the
    first is read, and the others are counted as a repair, as `read` does.

    Args:
        path: As for `read`.
        progress: As for `read`.
        strict: As for `read`.

    Raises:
        UnreadableTraceError: The first cannot be read.
    """
    return _documents(path, progress, strict=strict, several=True)


def _documents(path: Path, progress: Progress, *, strict: bool, several: bool) -> tuple[Trace, ...]:
    """The first trace of a file, or with `several` all of them if they are ranks."""
    parts: list[_Part] = []
    repairs = Repairs("standard input" if path == STDIN else path.name, strict=strict)
    with Source(path, progress, repairs) as source:
        parts.append(_part(source, source.blocks(), repairs, progress, several=several))
        while parts[-1].chunks.followed and several:
            following = Repairs(source.name, strict=strict)
            try:
                parts.append(_part(source, parts[-1].chunks.rest(), following, progress, several=True))
            except UnreadableTraceError:
                # What does not stand alone is no rank.
                parts, several = parts[:1], False
        for _ in parts[-1].chunks.rest():  # for the digest
            pass
    stated = [part.chunks.top.get("distributedInfo", {}) for part in parts]
    ranks = [info.get("rank") if isinstance(info, dict) else None for info in stated]
    if not _tell_apart(ranks):
        parts, several = parts[:1], False
    if parts[0].chunks.followed and not several and not repairs.count("several-documents"):
        repairs.add("several-documents", detail=" (give every rank its own file)")
    if len(parts) == 1:
        return (_trace(source, parts[0]),)
    return tuple(_rank_of_file(_trace(source, part), index, len(parts)) for index, part in enumerate(parts))


def _tell_apart(ranks: list[Any]) -> bool:
    """Whether documents of one file are ranks: each states another one, or none states any."""
    return ranks == [None] * len(ranks) or (None not in ranks and len({str(rank) for rank in ranks}) == len(ranks))


def _rank_of_file(trace: Trace, index: int, count: int) -> Trace:
    """One of several documents of a file, named by its place; it states its rank, or that is its place."""
    meta, notes = trace.meta, trace.notes
    top = meta.top
    if not isinstance(meta.distributed.get("rank"), int):
        top = {**top, "distributedInfo": {**meta.distributed, "rank": index, "world_size": count}}
        notes += ("the traces in this file state no rank: they are numbered by their order",)
    return replace(trace, meta=replace(meta, name=f"{meta.name} ({index + 1} of {count})", top=top), notes=notes)


@dataclass
class _Part:
    """One document that was read: what it holds, and what is known once the file has ended."""

    frames: dict[str, pd.DataFrame]
    chunks: Chunks[Event]
    repairs: Repairs
    events: int
    origin_ns: int
    categories: list[str]
    unknown: Counter[str]


def _part(source: Source, blocks: Iterator[bytes], repairs: Repairs, progress: Progress, *, several: bool) -> _Part:
    """Reads one document from blocks of text."""
    columns, chunks = _columns(source, blocks, repairs, progress, several=several)
    if not columns.events:
        raise UnreadableTraceError(
            f"{source.name} holds no events",
            where=source.name,
            why="the profiler's schedule never reached its active steps, or the export came after they were cleared",
            fix="record with schedule(wait=..., warmup=..., active=..., repeat=1) and export in on_trace_ready",
        )
    builder = FrameBuilder(columns, repairs)
    frames = builder.frames()
    if not any(len(frame) for name, frame in frames.items() if name != "threads"):
        raise not_from_torch(source.name, columns)
    if repairs.count("truncated"):
        frames["steps"] = _whole_steps(frames, repairs)
    return _Part(frames, chunks, repairs, columns.events, builder.origin_ns, columns.seen_categories, columns.unknown)


def _trace(source: Source, part: _Part) -> Trace:
    """The document as a trace; the file has to be read to its end, for its digest."""
    top = part.chunks.top
    meta = Meta(
        name=source.name,
        sha256=source.sha256,
        size_bytes=source.size_bytes,
        events=part.events,
        origin_ns=part.origin_ns,
        base_ns=_integer(top.get("baseTimeNanoseconds")),
        device_kind=_device_kind(top, part.frames, part.categories),
        top=top,
    )
    notes = tuple(source.notes)
    notes += tuple(f"category {text} ({count} events)" for text, count in sorted(part.unknown.items()))
    if part.chunks.bare_list:
        notes += ("the file is a bare list of events: device, rank and versions are not stated",)
    return Trace(
        meta=meta, capabilities=_capabilities(part.frames), repairs=part.repairs.listed(), notes=notes, **part.frames
    )


def _columns(
    source: Source, blocks: Iterator[bytes], repairs: Repairs, progress: Progress, *, several: bool
) -> tuple[Columns, Chunks[Event]]:
    """All events as columns; the decoder keeps what stood beside them."""
    columns, tell = Columns(repairs), event_counter(progress)
    available = limits.available_bytes()
    # Events are dropped run by run and hold no cycles; the collector would only scan them again and again.
    collecting = gc.isenabled()
    gc.disable()
    try:
        chunks = Chunks(blocks, source.name, repairs, TypedEvents(repairs), several=several)
        for events in chunks:
            columns.add(events)
            tell(columns.events)
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
