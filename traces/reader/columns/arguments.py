"""What a frame needs of the arguments of its events, as columns.

A comprehension takes a third of the time of `map(attrgetter(...))`: the interpreter reads a slot without a call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol

import msgspec
import numpy as np
import numpy.typing as npt

from traces.patterns import Pattern
from traces.reader.columns.messages import messages
from traces.reader.columns.numbers import floats, integers, small_integers
from traces.reader.columns.symbols import Symbols
from traces.reader.events import ABSENT, Args, Event
from traces.reader.names.vocabulary import Kind

Int32Array = npt.NDArray[np.int32]
_NO_ARGS = Args()
# What a convolution's stride, padding and mask of gradients say, whether attention is causal, and whom a message goes to.
_SHAPED_OP = Pattern(r"^aten::\w*(?:conv|attention)|^c10d::(?:send|recv)")
# How long these take depends on how their tensors lie in memory: convolutions, and what goes through tensors value by value.
_LAID_OUT_OP = Pattern(
    r"^aten::(?:\w*conv|(?:add|sub|rsub|mul|div|pow|where|maximum|minimum|lerp|addcmul|addcdiv|relu|gelu|silu|sigmoid|tanh|exp|neg"
    r"|sqrt|rsqrt|clamp\w*|leaky_relu|hardtanh|\w+_backward)_?$)"
)


class Tables(Protocol):
    """Where texts are numbered."""

    texts: Symbols
    categories: Symbols


def codes(table: Symbols, values: Iterable[Any]) -> Int32Array:
    """Codes of values in a table, which grows by those it does not have; as many as there are values."""
    return small_integers(list(map(table.__getitem__, values)))


def _ids(**columns: Sequence[Any]) -> dict[str, npt.NDArray[Any]]:
    part: dict[str, npt.NDArray[Any]] = {}
    for column, values in columns.items():
        part[column], part[column + "_known"] = integers(values)
    return part


def _external(args: Sequence[Args]) -> dict[str, npt.NDArray[Any]]:
    values = [a.external_id for a in args]
    # To look for what is false takes a third as long as to compare with None.
    if not all(values) and None in values:
        values = [a.external_id if a.external_id is not None else a.external_id_legacy for a in args]
    ids, known = integers(values)
    return {"external_id": ids, "external_id_known": known}


def _texts(tables: Tables, values: Sequence[Any]) -> Int32Array:
    """Codes of texts, raw JSON among them; -1 where absent or empty (becomes NA in the frame)."""
    found = codes(tables.texts, values)
    for nothing in (None, "", b""):
        empty = tables.texts.get(nothing)
        if empty is not None:
            found = np.where(found == empty, np.int32(-1), found)
    return found


def _copied(texts: Iterable[msgspec.Raw]) -> list[bytes]:
    """Pieces of JSON, at least one, as bytes of their own."""
    # One by one it takes twice as long. No JSON holds a zero byte.
    return b"\0".join(texts).split(b"\0")


def _json(tables: Tables, values: Sequence[msgspec.Raw]) -> Int32Array:
    """Codes of pieces of JSON; -1 where absent or empty."""
    # Most runs of events lack most arguments: a million of them need no copy of nothing.
    if _all_absent(values):
        return np.full(len(values), -1, dtype=np.int32)
    return _texts(tables, _copied(values))


def _all_absent(values: Sequence[msgspec.Raw]) -> bool:
    # It is one object: `count` compares no further.
    return not values or (values[0] is ABSENT and values.count(ABSENT) == len(values))


def _args(events: Sequence[Event]) -> list[Args]:
    return [event.args or _NO_ARGS for event in events]


def _op(tables: Tables, events: Sequence[Event]) -> dict[str, npt.NDArray[Any]]:
    args = _args(events)
    part = _external(args) | _ids(sequence=[a.sequence for a in args])
    dims = [a.input_dims if a.input_dims is not ABSENT else a.input_dims_legacy for a in args]
    part["input_dims"] = _json(tables, dims)
    part["input_types"] = _json(tables, [a.input_types for a in args])
    part["concrete_inputs"] = _json(tables, _of_ops(_SHAPED_OP, events, [a.concrete_inputs for a in args]))
    part["input_strides"] = _json(tables, _of_ops(_LAID_OUT_OP, events, [a.input_strides for a in args]))
    # What Inductor says of its kernels.
    part["stated_flops"] = _json(tables, [a.kernel_flop for a in args])
    part["stated_gigabytes"] = _json(tables, [a.kernel_num_gb for a in args])
    stacks = [a.stack for a in args]
    absent = stacks.count(None) == len(stacks)
    part["stack"] = np.full(len(stacks), -1, dtype=np.int32) if absent else _texts(tables, stacks)
    return part


def _of_ops(wanted: Pattern[str], events: Sequence[Event], stated: list[msgspec.Raw]) -> list[msgspec.Raw]:
    """What is stated of inputs, of those ops alone whose work depends on it."""
    if _all_absent(stated):
        return stated
    return [text if wanted.search(str(event.name)) else ABSENT for event, text in zip(events, stated, strict=True)]


def _collective(tables: Tables, events: Sequence[Event]) -> dict[str, npt.NDArray[Any]]:
    args = _args(events)
    part = _op(tables, events) | _ids(message_elements=[a.message_elements for a in args])
    part["message_type"] = _json(tables, [a.message_type for a in args])
    part["message"] = messages(tables, args)
    return part


def _runtime(tables: Tables, events: Sequence[Event]) -> dict[str, npt.NDArray[Any]]:
    args = _args(events)
    part = _external(args) | _ids(correlation=[a.correlation for a in args])
    grids = [a.grid if a.grid is not ABSENT else a.grid_legacy for a in args]
    blocks = [a.block if a.block is not ABSENT else a.block_legacy for a in args]
    return part | {"grid": _json(tables, grids), "block": _json(tables, blocks)}


def _kernel(tables: Tables, events: Sequence[Event]) -> dict[str, npt.NDArray[Any]]:
    args = _args(events)
    part = _of_device(args)
    part["blocks_per_sm"] = floats([a.blocks_per_sm for a in args])
    part["warps_per_sm"] = floats([a.warps_per_sm for a in args])
    part["occupancy"] = floats([a.occupancy for a in args])
    part["residency"] = _json(tables, [a.residency for a in args])
    part["message"] = messages(tables, args)
    # Extents are for finding out how full the device is; where that is stated they would only cost a tenth of the reading time.
    stated = not np.isnan(part["blocks_per_sm"]).any()
    return part | _extent(tables, [_NO_ARGS] * len(args) if stated else args)


def _extent(tables: Tables, args: Sequence[Args]) -> dict[str, npt.NDArray[Any]]:
    return {"grid": _json(tables, [a.grid for a in args]), "block": _json(tables, [a.block for a in args])}


def _device(tables: Tables, events: Sequence[Event]) -> dict[str, npt.NDArray[Any]]:
    return _of_device(_args(events))


def _of_device(args: Sequence[Args]) -> dict[str, npt.NDArray[Any]]:
    return _external(args) | _ids(
        correlation=[a.correlation for a in args], device=[a.device for a in args], stream=[a.stream for a in args]
    )


def _sync(tables: Tables, events: Sequence[Event]) -> dict[str, npt.NDArray[Any]]:
    args = _args(events)
    return _of_device(args) | _ids(awaited=[a.awaited for a in args])


def _copy(tables: Tables, events: Sequence[Event]) -> dict[str, npt.NDArray[Any]]:
    args = _args(events)
    part = _of_device(args)
    sizes, known = integers([a.bytes if a.bytes is not None else a.size for a in args])
    category = codes(tables.categories, [event.cat for event in events])
    return part | {"size": sizes, "size_known": known, "category": category}


def _python(tables: Tables, events: Sequence[Event]) -> dict[str, npt.NDArray[Any]]:
    args = _args(events)
    return _ids(python_id=[a.python_id for a in args], python_parent_id=[a.python_parent_id for a in args])


def _memory(tables: Tables, events: Sequence[Event]) -> dict[str, npt.NDArray[Any]]:
    args = _args(events)
    return _ids(
        delta=[a.memory_bytes for a in args],
        allocated=[a.total_allocated for a in args],
        reserved=[a.total_reserved for a in args],
        device_type=[a.device_type for a in args],
        device_id=[a.device_id for a in args],
    )


def _counter(tables: Tables, events: Sequence[Event]) -> dict[str, npt.NDArray[Any]]:
    return {"value": floats([a.value for a in _args(events)])}


def _graph_edge(tables: Tables, events: Sequence[Event]) -> dict[str, npt.NDArray[Any]]:
    arrives = np.array([event.ph == "f" for event in events], dtype=bool)
    return _ids(edge=[event.id for event in events]) | {"arrives": arrives}


def _thread_name(tables: Tables, events: Sequence[Event]) -> dict[str, npt.NDArray[Any]]:
    return {"text": _texts(tables, [None if a.name is None else str(a.name) for a in _args(events)])}


ARGUMENTS: dict[Kind, Callable[[Tables, Sequence[Event]], dict[str, npt.NDArray[Any]]]] = {
    Kind.OP: _op,
    Kind.COLLECTIVE: _collective,
    Kind.RUNTIME: _runtime,
    Kind.KERNEL: _kernel,
    Kind.COPY: _copy,
    Kind.SYNC: _sync,
    Kind.GPU_ANNOTATION: _device,
    Kind.PYTHON: _python,
    Kind.MEMORY: _memory,
    Kind.COUNTER: _counter,
    Kind.GRAPH_EDGE: _graph_edge,
    Kind.THREAD_NAME: _thread_name,
}
