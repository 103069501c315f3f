"""Columns to the declared frames: categoricals, NA for what is missing, times from the earliest event."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from traces.categories import from_codes
from traces.fixed_frame import FixedFrame
from traces.ordering import outer_first
from traces.reader.clean.quarantine import clean
from traces.reader.clean.tables import Tables
from traces.reader.columns.columns import Columns
from traces.reader.columns.growing import of_rows, thrifty
from traces.reader.frames.arrays import Table, categorical, distinct, figures, nullable, text
from traces.reader.frames.beside import BESIDE, Beside
from traces.reader.frames.counters import devices_of_rows, sampled, samples
from traces.reader.frames.declared import declared
from traces.reader.frames.graph_edges import edge_ends
from traces.reader.frames.layers import join_layers
from traces.reader.frames.memory import memory_columns, memory_rows
from traces.reader.frames.steps import one_per_number
from traces.reader.frames.threads import thread_numbers, threads
from traces.reader.mend.repairs import Repairs
from traces.reader.names.collectives import COLLECTIVE_WORDS, are_collective, collective_word
from traces.reader.names.vocabulary import (
    Kind,
    annotation_kind,
    copy_direction,
    copy_host_memory,
    restored_path,
    runtime_kind,
)

ANNOTATION_KINDS = ("loader", "optimizer_step", "zero_grad", "compile", "module", "again", "user")
RUNTIME_KINDS = ("launch", "graph_launch", "memcpy", "memset", "sync", "allocator", "other")
DIRECTIONS = ("HtoD", "DtoH", "DtoD", "PtoP", "HtoH", "memset", "unknown")
HOST_MEMORY = ("pageable", "pinned", "unknown")
# What does not take time, or is none of the program's.
_MOMENTS = (Kind.MEMORY, Kind.COUNTER, Kind.GRAPH_EDGE)
_UNTIMED = (Kind.SKIP, Kind.THREAD_NAME, *_MOMENTS)
_RAW_INPUTS = ("input_dims", "input_types", "input_strides", "concrete_inputs", "stack")


class FrameBuilder:
    """Makes every frame of one trace from its columns.

    Args:
        columns: All events of the file.
        repairs: Where what had to be set aside is counted.
    """

    def __init__(self, columns: Columns, repairs: Repairs) -> None:
        self._columns = columns
        names = [text(name) for name in columns.names]
        restored = [restored_path(name) for name in names]
        swallowed = [code for code, (a, b) in enumerate(zip(names, restored, strict=True)) if a != b]
        self._names = np.array(restored, dtype=object)
        self._texts = columns.decoded_texts()
        self._categories = [text(category) for category in columns.categories]
        processes: dict[str, int] = {}
        of_threads = [processes.setdefault(text(pid), len(processes)) for pid, _ in columns.threads]
        self._process = np.array(of_threads, dtype=np.int64)
        self.tables = Tables(columns, repairs)
        self.tables.count_named(swallowed, "swallowed-escape")
        self.aside = clean(self.tables)
        join_layers(self.tables[Kind.RUNTIME], self.tables[Kind.OP], self._names, columns.threads)
        self.origin_ns = self._origin()
        self._places = Beside({kind: len(self.tables[kind].get("start", ())) for kind in BESIDE})

    def _origin(self) -> int:
        timed = [table for kind, table in self.tables if kind not in _UNTIMED and table and table["start_known"].any()]
        return min((int(table["start"][table["start_known"]].min()) for table in timed), default=0)

    def frames(self) -> dict[str, pd.DataFrame]:
        """Every frame named in `traces.schema.SCHEMA`."""
        names = self.tables[Kind.THREAD_NAME]
        return {
            "threads": declared(
                "threads", threads(self._columns.threads, self._process, names, self._names, self._texts)
            ),
            # Of a small trace most frames have no rows, and those take as long to make as others.
            **{
                name: declared(name, make()) if self.tables[kind] else _without_rows(name)
                for name, (kind, make) in self._makers().items()
            },
            "quarantined": declared("quarantined", self._quarantined()),
        }

    def _makers(self) -> dict[str, tuple[Kind, Callable[[], dict[str, Any]]]]:
        """Of each frame of one kind of event, that kind and what makes it."""
        ends = partial(edge_ends, self._columns.threads)
        return {
            "steps": (Kind.STEP, self._steps),
            "ops": (Kind.OP, partial(self._ops, Kind.OP)),
            "annotations": (Kind.ANNOTATION, self._annotations),
            "runtime": (Kind.RUNTIME, self._runtime),
            "kernels": (Kind.KERNEL, self._kernels),
            "copies": (Kind.COPY, self._copies),
            "collectives": (Kind.COLLECTIVE, partial(self._ops, Kind.COLLECTIVE)),
            "syncs": (Kind.SYNC, partial(self._host, Kind.SYNC, self._sync)),
            "python": (Kind.PYTHON, partial(self._host, Kind.PYTHON, _python)),
            "gc": (Kind.GC, partial(self._host, Kind.GC)),
            "memory": (Kind.MEMORY, self._memory),
            "counters": (Kind.COUNTER, self._counters),
            "graph_edges": (Kind.GRAPH_EDGE, partial(self._host, Kind.GRAPH_EDGE, ends)),
            "gpu_annotations": (Kind.GPU_ANNOTATION, partial(self._host, Kind.GPU_ANNOTATION, self._device)),
            "overhead": (Kind.OVERHEAD, partial(self._host, Kind.OVERHEAD)),
        }

    def _base(self, kind: Kind, keep: npt.NDArray[np.bool_] | None = None) -> tuple[Table, dict[str, Any]]:
        """The kind's table, sorted by start, and the columns every frame shares.

        Spans without a start or with a negative or missing duration were decided about by `clean`; none is left here.
        """
        # Each kind is asked for once; unsorted columns would only take memory.
        unsorted = self.tables.give_up(kind) or {key: np.empty(0, dtype=np.int64) for key in _EVERY_COLUMN}
        valid = unsorted["start_known"].astype(bool) & (unsorted["dur_known"].astype(bool) | (kind in _MOMENTS))
        valid &= (unsorted["dur"] >= 0) & (True if keep is None else keep)
        order = np.flatnonzero(valid)
        begins = unsorted["start"][order]
        order = order[outer_first(begins, begins + unsorted["dur"][order])]
        table = {key: of_rows(unsorted.pop(key), order) for key in list(unsorted)}
        start, end = (self._places.of(name, kind, len(order)) for name in ("start_ns", "end_ns"))
        # Of a kind that is laid beside others, the memory of all threads is what the tree of the host needs.
        thread = self._places.of("thread", kind, len(order), np.int32)
        thread[:] = table["thread"]
        thread = thread if kind in BESIDE else thrifty(thread)
        table["start"] = np.subtract(table["start"], self.origin_ns, out=start)
        np.add(start, table["dur"], out=end)
        return table, {
            "name": self._symbols(table["name"]),
            "process": thrifty(self._process[thread]),
            "thread": thread,
            "start_ns": start,
            "dur_ns": table["dur"],
            "end_ns": end,
        }

    def _symbols(self, codes: npt.NDArray[np.int64]) -> pd.Categorical:
        used, local = distinct(codes)
        return categorical(local, [str(name) for name in self._names[used]])

    def _labels(
        self, codes: npt.NDArray[np.int64], label: Callable[[str], str], labels: Sequence[str]
    ) -> pd.Categorical:
        """A vocabulary word per event, looked up once per distinct name."""
        used, local = distinct(codes)
        words = [labels.index(label(str(name))) for name in self._names[used]]
        return from_codes(np.array(words, dtype=np.int64)[local] if words else local, labels)

    def _raw(self, codes: npt.NDArray[np.int64]) -> pd.Categorical:
        # One further, so that -1 (there is none) is a code like any other.
        used, local = distinct(codes + 1)
        missing = int(len(used) > 0 and used[0] == 0)
        return categorical(local - missing, [self._texts[code - 1] for code in used[missing:].tolist()])

    def _host(self, kind: Kind, more: Callable[[Table], dict[str, Any]] | None = None) -> dict[str, Any]:
        table, shared = self._base(kind)
        return shared | (more(table) if more else {})

    def _ops(self, kind: Kind) -> dict[str, Any]:
        def more(table: Table) -> dict[str, Any]:
            empty = np.full(len(table["start"]), -1, dtype=np.int64)
            return {
                "external_id": nullable(table, "external_id"),
                "sequence": nullable(table, "sequence"),
                **{name: self._raw(table.get(name, empty)) for name in _RAW_INPUTS},
                "stated_flops": figures(table.get("stated_flops", empty), self._texts),
                "stated_bytes": thrifty(figures(table.get("stated_gigabytes", empty), self._texts) * 1e9),
                **({} if kind is Kind.OP else message(table, empty)),
            }

        def message(table: Table, empty: npt.NDArray[np.int64]) -> dict[str, Any]:
            kinds, stated = (self._raw(table.get(name, empty)) for name in ("message_type", "message"))
            return {"message_elements": nullable(table, "message_elements"), "message_type": kinds, "message": stated}

        return self._host(kind, more)

    def _extent(self, table: Table) -> dict[str, Any]:
        absent = np.full(len(table["start"]), -1, dtype=np.int64)
        return {name: self._raw(table.get(name, absent)) for name in ("grid", "block")}

    def _annotations(self) -> dict[str, Any]:
        return self._host(
            Kind.ANNOTATION, lambda table: {"kind": self._labels(table["name"], annotation_kind, ANNOTATION_KINDS)}
        )

    def _runtime(self) -> dict[str, Any]:
        return self._host(
            Kind.RUNTIME,
            lambda table: {
                "kind": self._labels(table["name"], runtime_kind, RUNTIME_KINDS),
                "correlation": nullable(table, "correlation"),
                "external_id": nullable(table, "external_id"),
                **self._extent(table),
            },
        )

    def _device(self, table: Table) -> dict[str, Any]:
        """Device and stream: from the arguments, else from pid and tid, where kernels of every dialect repeat them."""
        rows = len(table["start"])
        pids, tids = thread_numbers(self._columns.threads)
        thread = table["thread"].astype(np.int64)
        zeros = np.zeros(rows, dtype=np.int64)
        device = np.where(
            table.get("device_known", zeros).astype(bool), table.get("device", zeros), pids[thread] if rows else zeros
        )
        stream = np.where(
            table.get("stream_known", zeros).astype(bool), table.get("stream", zeros), tids[thread] if rows else zeros
        )
        ids = {name: nullable(table, name) for name in ("correlation", "external_id")}
        return {"device": thrifty(device), "stream": thrifty(stream), **ids}

    def _sync(self, table: Table) -> dict[str, Any]:
        return self._device(table) | {"awaited": nullable(table, "awaited")}

    def _kernels(self) -> dict[str, Any]:
        def more(table: Table) -> dict[str, Any]:
            rows = len(table["start"])
            words = self._labels(table["name"], collective_word, COLLECTIVE_WORDS).codes
            unknown = np.full(rows, np.nan)
            stated = table.get("message", np.full(rows, -1, dtype=np.int64))
            return self._device(table) | {
                "collective": are_collective(words, stated >= 0),
                "doubtful": (words == COLLECTIVE_WORDS.index("either")) & (stated < 0),
                "message": self._raw(stated),
                "blocks_per_sm": table.get("blocks_per_sm", unknown),
                "warps_per_sm": table.get("warps_per_sm", unknown),
                **self._extent(table),
                "occupancy_ratio": thrifty(table.get("occupancy", unknown) / 100),
                "residency": self._raw(table.get("residency", np.full(rows, -1, dtype=np.int64))),
            }

        return self._host(Kind.KERNEL, more)

    def _copies(self) -> dict[str, Any]:
        def more(table: Table) -> dict[str, Any]:
            pairs = table["name"].astype(np.int64) * (len(self._categories) + 1) + table.get("category", table["name"])
            used, first, local = np.unique(pairs, return_index=True, return_inverse=True)
            words = [
                DIRECTIONS.index(
                    copy_direction(str(self._names[table["name"][i]]), self._categories[int(table["category"][i])])
                )
                for i in first.tolist()
            ]
            codes = np.array(words, dtype=np.int64)[local] if len(used) else local
            return self._device(table) | {
                "direction": from_codes(codes, DIRECTIONS),
                "host_memory": self._labels(table["name"], copy_host_memory, HOST_MEMORY),
                "size_bytes": nullable(table, "size"),
            }

        return self._host(Kind.COPY, more)

    def _memory(self) -> dict[str, Any]:
        raw = self.tables[Kind.MEMORY]
        table, shared = self._base(Kind.MEMORY, memory_rows(raw, self._names) if raw else None)
        return shared | memory_columns(table)

    def _counters(self) -> dict[str, Any]:
        devices = devices_of_rows(self._columns.threads)
        raw = self.tables[Kind.COUNTER]
        table, shared = self._base(Kind.COUNTER, sampled(raw, devices) if raw else None)
        return shared | samples(table, shared["thread"], devices)

    def _steps(self) -> dict[str, Any]:
        table, shared = self._base(Kind.STEP)
        return one_per_number(shared, [str(self._names[code]) for code in table["name"].tolist()])

    def _quarantined(self) -> dict[str, Any]:
        aside = self.aside
        return {
            "kind": pd.Categorical(aside.kinds),
            "name": self._symbols(np.array(aside.names, dtype=np.int64)),
            "start_ns": np.array(aside.starts, dtype=np.int64) - self.origin_ns,
            "dur_ns": np.array(aside.durations, dtype=np.int64),
            "reason": pd.Categorical(aside.reasons),
        }


@cache
def _without_rows(name: str) -> FixedFrame:
    """The frame of a trace that has no such event, one for all traces."""
    repairs = Repairs("a trace without such an event")
    _, make = FrameBuilder(Columns(repairs), repairs)._makers()[name]
    return declared(name, make())


def _python(table: Table) -> dict[str, Any]:
    return {name: nullable(table, name) for name in ("python_id", "python_parent_id")}


_EVERY_COLUMN = ("name", "thread", "start", "start_known", "dur", "dur_known")
