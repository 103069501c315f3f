"""Structs of events by their category, each with no more arguments than columns ask of it.

One struct of all arguments that any event may have takes a third longer to decode and three times the memory: most of them
say nothing of most events. A run of events that does not fit is decoded into those (`traces.reader.events`) instead.
A category that is not listed here does not fit, nor a value of another type than is declared there; but an argument that
no frame would have is skipped, whatever it holds.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from functools import cache, reduce
from operator import or_
from typing import Annotated, Any, Literal

import msgspec
import numpy as np
import numpy.typing as npt

from traces.reader.events import FIRST_EDGE, Args, Event, argument_key
from traces.reader.names.vocabulary import Kind, event_kind

_OF_COLLECTIVE = (
    "message_elements", "message_type", "collective_name", "out_elements", "group_name", "group_description", "group_ranks",
    "group_size", "group_sequence", "source_rank", "target_rank", "in_splits", "out_splits",
)  # fmt: skip
_OF_OP = (
    "external_id", "sequence", "concrete_inputs", "input_types", "input_strides", "input_dims", "stack",
    "external_id_legacy",
    "input_dims_legacy", "kernel_flop", "kernel_num_gb", *_OF_COLLECTIVE,
)  # fmt: skip
_OF_DEVICE = ("external_id", "device", "stream", "correlation", "external_id_legacy")
# What `traces.reader.columns.arguments` asks of each kind, and of those that a name may move it to; in the order of the file.
_ASKED: dict[Kind, tuple[str, ...]] = {
    Kind.OP: _OF_OP,
    Kind.ANNOTATION: _OF_OP,
    Kind.RUNTIME: (
        "external_id", "correlation", "external_id_legacy", "grid", "block", "grid_legacy", "block_legacy",
    ),
    Kind.KERNEL: (
        *_OF_DEVICE, "blocks_per_sm", "warps_per_sm", "grid", "block", "occupancy", "residency", *_OF_COLLECTIVE,
    ),
    Kind.COPY: (*_OF_DEVICE, "bytes", "size"),
    Kind.SYNC: (*_OF_DEVICE, "awaited"),
    Kind.PYTHON: ("python_parent_id", "python_id"),
    Kind.GPU_ANNOTATION: _OF_DEVICE,
    Kind.MEMORY: ("total_reserved", "total_allocated", "memory_bytes", "device_id", "device_type"),
}  # fmt: skip
_COMPLETE = (
    "cpu_op", "user_annotation", "python_function", "cuda_runtime", "cuda_driver", "kernel", "gpu_memcpy", "gpu_memset",
    "cuda_sync", "gpu_user_annotation", "overhead", "hip_runtime", "xpu_runtime", "xpu_driver", "mtia_runtime",
    "mtia_ccp_events", "Operator", "Runtime", "Kernel", "Memcpy", "Memset", "Trace",
)  # fmt: skip
_INSTANT = ("cpu_instant_event",)
_FLOWS = ("ac2g", "fwdbwd", "async", "async_gpu", "async_cpu_to_gpu")


@cache
def _declared(struct: type[msgspec.Struct]) -> dict[str, msgspec.structs.FieldInfo]:
    return {field.name: field for field in msgspec.structs.fields(struct)}


@cache
def _arguments(kind: Kind) -> Any:
    known = _declared(Args)
    fields = [(name, known[name].type, known[name].default) for name in _ASKED.get(kind, ())]
    return msgspec.defstruct(f"{kind.name.title()}Args", fields, rename=argument_key, gc=False)


def _struct(category: str, phases: Sequence[str], stamp: Any) -> type[msgspec.Struct]:
    """What an event of a category is decoded into; `cat` and, but of flows, `id` are the same for all."""
    kind, flow = event_kind(phases[0], category), category in _FLOWS
    fields: list[Any] = [("ph", Literal[tuple(phases)])]
    # Ends of edges are none of the flows that are left out.
    fields += [("id", Annotated[int, msgspec.Meta(lt=FIRST_EDGE)])] if flow else []
    fields += [(name, _declared(Event)[name].type, None) for name in ("name", "pid", "tid")]
    fields += [("ts", stamp, None), ("dur", stamp, None), ("args", _arguments(kind) | None, None)]
    same = {"cat": category} if flow else {"cat": category, "id": None}
    return msgspec.defstruct(f"Event_{category}", fields, tag_field="cat", tag=category, gc=False, namespace=same)


# Every category with its phases and the kind of its events.
_CATEGORIES = tuple(
    (category, phases, Kind.SKIP if categories is _FLOWS else event_kind(phases[0], category))
    for categories, phases in ((_COMPLETE, ("X",)), (_INSTANT, ("i",)), (_FLOWS, ("s", "f", "t")))
    for category in categories
)
# Of the structs with loose stamps, and then of those with exact ones.
KINDS = np.array([kind for _, _, kind in _CATEGORIES] * 2, dtype=np.int8)
# As far as they are made.
_NUMBER_OF: dict[type, int] = {}


@cache
def decoder(*, exact: bool) -> msgspec.json.Decoder[Any]:
    """What decodes a list of events by their categories, made when it is first needed: who is handed columns needs none.

    Args:
        exact: Whether stamps are decimals with all their digits.
    """
    stamp: Any = Decimal | None if exact else int | float | str | None
    structs = [_struct(category, phases, stamp) for category, phases, _ in _CATEGORIES]
    _NUMBER_OF.update({struct: number for number, struct in enumerate(structs, len(_CATEGORIES) if exact else 0)})
    union: Any = reduce(or_, structs)
    return msgspec.json.Decoder(list[union])


def is_by_category(event: object) -> bool:
    """Whether an event was decoded by its category."""
    return type(event) in _NUMBER_OF


def structs_of(events: Sequence[Event]) -> npt.NDArray[np.uint8] | None:
    """The number of each event's struct, by which `KINDS` has its kind; None where one was not decoded by its category."""
    try:
        return np.frombuffer(bytes(map(_NUMBER_OF.__getitem__, map(type, events))), dtype=np.uint8)
    except KeyError:
        return None


def pairs_of(events: Sequence[Event]) -> set[tuple[Any, Any]]:
    """All pairs of phase and category of events of one struct."""
    return {(phase, events[0].cat) for phase in {event.ph for event in events}}
