"""Reading one trace file: the whole way from a path to a `Trace`."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt
import pandas as pd

from traces.errors import UnreadableTraceError
from traces.fixed_frame import fixed
from traces.patterns import Pattern
from traces.progress import Progress, silent
from traces.reader import limits, memory_left
from traces.reader.about.completeness import whole_until_ns
from traces.reader.about.foreign import beyond_clocks, not_from_torch, refuse_timeline
from traces.reader.about.provenance import recall
from traces.reader.about.unknown_categories import notes_of, unknown_categories
from traces.reader.clean.quarantine import FRAME_OF
from traces.reader.decode.document import Decoded, Document, decode
from traces.reader.frames.builder import FrameBuilder
from traces.reader.frames.exchanges import settled
from traces.reader.frames.nested_calls import single_calls
from traces.reader.frames.old_ranges import split_ranges
from traces.reader.frames.optimizer_closure import updates_only
from traces.reader.frames.own_ids import with_correlations
from traces.reader.input.source import Source
from traces.reader.mend.places import offsets
from traces.reader.mend.repairs import Repairs
from traces.reader.names.vocabulary import Kind
from traces.trace import Capability, Meta, Trace

# What `decode` does, wherever it is done: (path, progress, strict, several) to what the file holds.
Decode = Callable[[Path, Progress, bool, bool], Decoded]
_LETTER, _DIGIT = Pattern("[A-Za-z]"), Pattern("[0-9]")


def read(
    path: str | os.PathLike[str], progress: Progress = silent, *, strict: bool = False, decoder: Decode = decode
) -> Trace:
    """Reads one Chrome trace as torch.profiler (any version) writes it.

    Args:
        path: `.json`, or that compressed (gzip, zstd, bzip2, xz); the content decides, not the name. `-` is the standard
            input.
        progress: Told how far reading is, in bytes on disk; raise from it to cancel.
        strict: Refuse a file that has to be repaired.
        decoder: Decodes the file; `traces.reader.parallel.ahead` has one that began earlier.

    Raises:
        UnreadableTraceError: The file is missing, damaged beyond repair or something else; the message says what and
            where.
    """
    path = Path(path)
    decoded = decoder(path, progress, strict, False)
    # From what was kept of the file, or another process made of it, nothing was told of the end, or nothing at all.
    progress("reading", decoded.size_bytes, decoded.size_bytes)
    return _trace(path, decoded, decoded.documents[0])


def read_every(path: str | os.PathLike[str], progress: Progress = silent, *, strict: bool = False) -> tuple[Trace, ...]:
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
    path = Path(path)
    decoded = decode(path, progress, strict, True)
    first, *others = decoded.documents
    traces = [_trace(path, decoded, first)]
    try:
        traces += [_trace(path, decoded, document) for document in others]
    except UnreadableTraceError:
        # What does not stand alone is no rank.
        first.repairs.add("several-documents", detail=" (give every rank its own file)")
        return (msgspec.structs.replace(traces[0], repairs=first.repairs.listed()),)
    if len(traces) == 1:
        return tuple(traces)
    return tuple(_rank_of_file(trace, index, len(traces)) for index, trace in enumerate(traces))


def _rank_of_file(trace: Trace, index: int, count: int) -> Trace:
    """One of several documents of a file, named by its place; it states its rank, or that is its place."""
    meta, notes = trace.meta, trace.notes
    top = meta.top
    if meta.rank is None:
        top = {**top, "distributedInfo": {**meta.distributed, "rank": index, "world_size": count}}
        notes += ("the traces in this file state no rank: they are numbered by their order",)
    return msgspec.structs.replace(
        trace, meta=msgspec.structs.replace(meta, name=f"{meta.name} ({index + 1} of {count})", top=top), notes=notes
    )


def _trace(path: Path, decoded: Decoded, document: Document) -> Trace:
    """One document of a file as a trace."""
    columns, top = document.columns, document.top
    limits.check_memory(decoded.name, columns.size_bytes, memory_left.available_bytes(), held=columns.held_bytes)
    recall(top, document.repairs)
    refuse_timeline(decoded.name, columns)
    builder = FrameBuilder(columns, document.repairs)
    cut = bool(document.repairs.count("truncated"))
    whole_until = whole_until_ns(columns, builder.tables) if cut else None
    marks = builder.tables.events_by_start(Kind.STEP) if cut else {}
    frames = builder.frames()
    frames |= with_correlations(frames)
    frames["runtime"] = single_calls(frames["runtime"], [frames["kernels"], frames["copies"]])
    # `Operator` became `cpu_op` in 1.13 (rules.md section 3).
    old = "Operator" in columns.seen_categories
    if old:
        frames["ops"], frames["annotations"] = split_ranges(frames["ops"], frames["annotations"])
    frames["annotations"] = updates_only(frames["annotations"], frames["ops"])
    filled = {name for name, frame in frames.items() if len(frame)} - {"threads"}
    # Allocations and counters have no length, and stay where everything that has one is set aside.
    if not filled & set(FRAME_OF.values()):
        beyond = beyond_clocks(decoded.name, document.repairs)
        if beyond or not filled:
            raise beyond or not_from_torch(decoded.name, columns, document.repairs)
    if whole_until is not None:
        whole_until -= builder.origin_ns
        marks = {start - builder.origin_ns: event for start, event in marks.items()}
        frames["steps"] = _whole_steps(frames["steps"], whole_until, marks, document.repairs)
    meta = Meta(
        name=decoded.name,
        sha256=decoded.sha256,
        size_bytes=decoded.size_bytes,
        events=columns.events,
        origin_ns=builder.origin_ns,
        base_ns=_integer(top.get("baseTimeNanoseconds")),
        device_kind=_device_kind(top, frames, columns.seen_categories),
        torch_before=(1, 13) if old else None,
        replayed="cuda_profiler_range" in columns.seen_categories,
        top=top,
    )
    frames["kernels"] = settled(
        frames["kernels"], frames["runtime"], frames["ops"], frames["collectives"], meta.world_size
    )
    _place(path, decoded, document)
    met = unknown_categories(columns, frames)
    notes = decoded.notes + notes_of(met)
    if document.bare_list:
        notes += ("the file is a bare list of events: device, rank and versions are not stated",)
    return Trace(
        meta=meta,
        capabilities=_capabilities(frames),
        repairs=document.repairs.listed(),
        notes=notes,
        unknown_categories=met,
        whole_until_ns=whole_until,
        unfinished=builder.aside.unfinished,
        **{name: fixed(frame) for name, frame in frames.items()},
    )


def _place(path: Path, decoded: Decoded, document: Document) -> None:
    """Finds the bytes of what was mended in columns, which know events only."""
    events = document.repairs.unplaced()
    if not events or (decoded.kept and not decoded.kept.opened()):
        return
    with suppress(UnreadableTraceError), Source(path, silent, Repairs(path.name), decoded.kept) as source:
        document.repairs.place(offsets(source.blocks(), document.places, events))


def _whole_steps(steps: pd.DataFrame, whole_until_ns: int, marks: dict[int, int], repairs: Repairs) -> pd.DataFrame:
    """Of a trace that was cut, the steps of which nothing is lost; all of them where that is none, for the verdict to say so.

    Args:
        steps: All steps.
        whole_until_ns: When the first event may begin that is lost.
        marks: The event of each step's mark, by the mark's start.
        repairs: Where the others are counted.
    """
    partial = steps["end_ns"] > whole_until_ns
    if partial.all() or not partial.any():
        return steps
    event = min(marks[start] for start in steps["start_ns"][partial].tolist())
    repairs.follow("partial-step", int(partial.sum()), event=event)
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
    # Calls of a runtime that nobody here has met are no device's work, but tell of a device.
    of_device = any(len(frames[name]) for name in ("kernels", "copies", "runtime"))
    return "other" if of_device else "cpu"


def _capabilities(frames: dict[str, pd.DataFrame]) -> frozenset[Capability]:
    found = set()
    ops, kernels, runtime = frames["ops"], frames["kernels"], frames["runtime"]
    if len(ops):
        found.add(Capability.HOST_OPS)
    if len(kernels) or len(frames["copies"]):
        found.add(Capability.DEVICE)
    if np.isin(_stated(kernels["correlation"]), _stated(runtime["correlation"])).any():
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
    return any(map(_LETTER.search, types)) or any(map(_DIGIT.search, dims))


def _stated(ids: pd.Series) -> npt.NDArray[np.int64]:
    """Those that are there."""
    return ids.dropna().to_numpy(dtype=np.int64)
