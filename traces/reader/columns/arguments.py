"""What a frame needs of the arguments of its events, as columns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from operator import attrgetter
from typing import Any, Protocol

import msgspec
import numpy as np
import numpy.typing as npt

from traces.reader.columns.messages import messages
from traces.reader.columns.numbers import floats, integers
from traces.reader.columns.symbols import Symbols
from traces.reader.events import ABSENT, Args, Event
from traces.reader.names.vocabulary import Kind

Int32Array = npt.NDArray[np.int32]
_NO_ARGS = Args()


class Tables(Protocol):
    """Where texts are numbered."""

    texts: Symbols
    categories: Symbols


def codes(table: Symbols, values: Iterable[Any], count: int) -> Int32Array:
    """Codes of values in a table, which grows by those it does not have; shape (count,)."""
    return np.fromiter(map(table.__getitem__, values), dtype=np.int32, count=count)


def _ids(args: Sequence[Args], **fields: str) -> dict[str, npt.NDArray[Any]]:
    part: dict[str, npt.NDArray[Any]] = {}
    for column, field in fields.items():
        values, known = integers(list(map(attrgetter(field), args)))
        part[column], part[column + "_known"] = values, known
    return part


def _external(args: Sequence[Args]) -> dict[str, npt.NDArray[Any]]:
    values = list(map(attrgetter("external_id"), args))
    if None in values:
        values = [a.external_id if a.external_id is not None else a.external_id_legacy for a in args]
    ids, known = integers(values)
    return {"external_id": ids, "external_id_known": known}


def _texts(tables: Tables, values: Sequence[Any]) -> Int32Array:
    """Codes of texts, raw JSON among them; -1 where absent or empty (becomes NA in the frame)."""
    found = codes(tables.texts, values, len(values))
    for nothing in (None, "", b""):
        empty = tables.texts.get(nothing)
        if empty is not None:
            found[found == empty] = -1
    return found


def _raw(args: Sequence[Args], field: str) -> list[bytes]:
    return _copied(map(attrgetter(field), args)) if args else []


def _copied(texts: Iterable[msgspec.Raw]) -> list[bytes]:
    """Pieces of JSON, at least one, as bytes of their own."""
    # One by one it takes twice as long. No JSON holds a zero byte.
    return b"\0".join(texts).split(b"\0")


def _args(events: Sequence[Event]) -> list[Args]:
    return [event.args or _NO_ARGS for event in events]


def _op(tables: Tables, events: Sequence[Event]) -> dict[str, npt.NDArray[Any]]:
    args = _args(events)
    part = _external(args) | _ids(args, sequence="sequence")
    dims = _raw(args, "input_dims")
    if b"" in dims:
        dims = [new or old for new, old in zip(dims, _raw(args, "input_dims_legacy"), strict=True)]
    part["input_dims"] = _texts(tables, dims)
    part["input_types"] = _texts(tables, _raw(args, "input_types"))
    part["stack"] = _texts(tables, list(map(attrgetter("stack"), args)))
    return part


def _collective(tables: Tables, events: Sequence[Event]) -> dict[str, npt.NDArray[Any]]:
    args = _args(events)
    part = _op(tables, events) | _ids(args, message_elements="message_elements")
    part["message_type"] = _texts(tables, _raw(args, "message_type"))
    part["message"] = messages(tables, args)
    return part


def _runtime(tables: Tables, events: Sequence[Event]) -> dict[str, npt.NDArray[Any]]:
    args = _args(events)
    return _external(args) | _ids(args, correlation="correlation") | _extent(tables, args)


def _kernel(tables: Tables, events: Sequence[Event]) -> dict[str, npt.NDArray[Any]]:
    args = _args(events)
    part = _device(tables, events)
    part["blocks_per_sm"] = floats([a.blocks_per_sm for a in args])
    part["warps_per_sm"] = floats([a.warps_per_sm for a in args])
    part["occupancy"] = floats([a.occupancy for a in args])
    part["message"] = messages(tables, args)
    # Extents are for finding out how full the device is; where that is stated they would only cost a tenth of the reading time.
    stated = not np.isnan(part["blocks_per_sm"]).any()
    return part | _extent(tables, [_NO_ARGS] * len(args) if stated else args)


def _extent(tables: Tables, args: Sequence[Args]) -> dict[str, npt.NDArray[Any]]:
    part: dict[str, npt.NDArray[Any]] = {}
    for column in ("grid", "block"):
        values = list(map(attrgetter(column), args))
        # CUDA's calls state none: a million of them need no copy of nothing.
        absent = set(map(id, values)) == {id(ABSENT)}
        part[column] = np.full(len(args), -1, dtype=np.int32) if absent else _texts(tables, _copied(values))
    return part


def _device(tables: Tables, events: Sequence[Event]) -> dict[str, npt.NDArray[Any]]:
    args = _args(events)
    return _external(args) | _ids(args, correlation="correlation", device="device", stream="stream")


def _copy(tables: Tables, events: Sequence[Event]) -> dict[str, npt.NDArray[Any]]:
    part = _device(tables, events)
    sizes, known = integers([a.bytes if a.bytes is not None else a.size for a in _args(events)])
    category = codes(tables.categories, [event.cat for event in events], len(events))
    return part | {"size": sizes, "size_known": known, "category": category}


def _python(tables: Tables, events: Sequence[Event]) -> dict[str, npt.NDArray[Any]]:
    return _ids(_args(events), python_id="python_id", python_parent_id="python_parent_id")


def _memory(tables: Tables, events: Sequence[Event]) -> dict[str, npt.NDArray[Any]]:
    return _ids(
        _args(events),
        delta="memory_bytes",
        allocated="total_allocated",
        reserved="total_reserved",
        device_type="device_type",
        device_id="device_id",
    )


def _thread_name(tables: Tables, events: Sequence[Event]) -> dict[str, npt.NDArray[Any]]:
    return {"text": _texts(tables, [None if a.name is None else str(a.name) for a in _args(events)])}


ARGUMENTS: dict[Kind, Callable[[Tables, Sequence[Event]], dict[str, npt.NDArray[Any]]]] = {
    Kind.OP: _op,
    Kind.COLLECTIVE: _collective,
    Kind.RUNTIME: _runtime,
    Kind.KERNEL: _kernel,
    Kind.COPY: _copy,
    Kind.SYNC: _device,
    Kind.GPU_ANNOTATION: _device,
    Kind.PYTHON: _python,
    Kind.MEMORY: _memory,
    Kind.THREAD_NAME: _thread_name,
}
