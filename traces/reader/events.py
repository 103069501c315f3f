"""The typed shape of one Chrome-trace event, as far as any measurement reads it.

msgspec skips keys that are not declared here, which is why reading is several times faster than building dicts. Numbers
are declared loosely (int, float or str) because traces in the wild quote them; columns coerce them later.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import msgspec

Number = int | float | str | None
Id = int | float | str | None

_ARGUMENT_NAMES = {
    "external_id": "External id",
    "external_id_legacy": "external id",
    "sequence": "Sequence number",
    "input_dims": "Input Dims",
    "input_dims_legacy": "Input dims",
    "input_types": "Input type",
    "input_strides": "Input Strides",
    "concrete_inputs": "Concrete Inputs",
    "stack": "Call stack",
    "bandwidth": "memory bandwidth (GB/s)",
    "blocks_per_sm": "blocks per SM",
    "warps_per_sm": "warps per SM",
    # Of a launch that roctracer recorded.
    "grid_legacy": "grid dim",
    "block_legacy": "block dim",
    "occupancy": "est. achieved occupancy %",
    "residency": "occupancy",
    "awaited": "wait_on_cuda_event_record_corr_id",
    "python_id": "Python id",
    "python_parent_id": "Python parent id",
    "message_elements": "In msg nelems",
    "message_type": "dtype",
    "collective_name": "Collective name",
    "out_elements": "Out msg nelems",
    "group_name": "Process Group Name",
    "group_description": "Process Group Description",
    "group_ranks": "Process Group Ranks",
    "group_size": "Group size",
    "group_sequence": "Seq",
    "source_rank": "Src Rank",
    "target_rank": "Dst Rank",
    "in_splits": "In split size",
    "out_splits": "Out split size",
    "memory_bytes": "Bytes",
    "total_allocated": "Total Allocated",
    "total_reserved": "Total Reserved",
    "device_type": "Device Type",
    "device_id": "Device Id",
    "kernel_flop": "kernel_flop",
    "kernel_num_gb": "kernel_num_gb",
    # Of CANN, Ascend's runtime; the last of a collective's planes.
    "task_type": "Task Type",
    "stream_id": "Stream Id",
    "connection_id": "connection_id",
    "plane_task": "task type",
    # A series without a name: the value of a counter.
    "value": "",
}

# torch 2.15 numbers dependencies of CUDA graphs from here on, clear of the correlations that other flows are numbered by
# (torch/profiler/_cuspy/trace.py, `_GRAPH_DEP_FLOW_ID_BASE`).
FIRST_EDGE = 1 << 40


def argument_key(field: str) -> str | None:
    """The key of an argument in the file; None where it is that of the field."""
    return _ARGUMENT_NAMES.get(field)


# Raw takes no union: an absent text is an empty one.
ABSENT = msgspec.Raw()


class Args(msgspec.Struct, gc=False, rename=_ARGUMENT_NAMES):
    """The arguments any frame keeps."""

    name: str | int | None = None
    external_id: Id = None
    external_id_legacy: Id = None
    correlation: Id = None
    device: Id = None
    stream: Id = None
    sequence: Number = None
    input_dims: msgspec.Raw = ABSENT
    input_dims_legacy: msgspec.Raw = ABSENT
    input_types: msgspec.Raw = ABSENT
    input_strides: msgspec.Raw = ABSENT
    concrete_inputs: msgspec.Raw = ABSENT
    stack: str | None = None
    bytes: Number = None
    size: Number = None
    blocks_per_sm: Number = None
    warps_per_sm: Number = None
    grid: msgspec.Raw = ABSENT
    block: msgspec.Raw = ABSENT
    grid_legacy: msgspec.Raw = ABSENT
    block_legacy: msgspec.Raw = ABSENT
    occupancy: Number = None
    residency: msgspec.Raw = ABSENT
    awaited: Id = None
    python_id: Id = None
    python_parent_id: Id = None
    message_elements: Number = None
    message_type: msgspec.Raw = ABSENT
    collective_name: msgspec.Raw = ABSENT
    out_elements: msgspec.Raw = ABSENT
    group_name: msgspec.Raw = ABSENT
    group_description: msgspec.Raw = ABSENT
    group_ranks: msgspec.Raw = ABSENT
    group_size: msgspec.Raw = ABSENT
    group_sequence: msgspec.Raw = ABSENT
    source_rank: msgspec.Raw = ABSENT
    target_rank: msgspec.Raw = ABSENT
    in_splits: msgspec.Raw = ABSENT
    out_splits: msgspec.Raw = ABSENT
    memory_bytes: Number = None
    total_allocated: Number = None
    total_reserved: Number = None
    device_type: Number = None
    device_id: Number = None
    kernel_flop: msgspec.Raw = ABSENT
    kernel_num_gb: msgspec.Raw = ABSENT
    task_type: Id = None
    stream_id: Id = None
    connection_id: Id = None
    plane_task: Id = None
    value: Number = None


class Event(msgspec.Struct, gc=False):
    """One event; every key may be missing."""

    ph: str | None = None
    cat: str | None = None
    name: str | None = None
    pid: Id = None
    tid: Id = None
    ts: Number = None
    dur: Number = None
    # Of a flow. Whatever it is, no event is turned away for it.
    id: Any = None
    args: Args | None = None


class ExactEvent(Event, gc=False):
    """The same with `ts` and `dur` as decimals.

    Absolute microseconds with a fraction (1.7e15 and three decimals) exceed what float64 keeps: its step there is
    0.25 us.
    """

    ts: Decimal | None = None  # type: ignore[assignment]
    dur: Decimal | None = None  # type: ignore[assignment]


DECODER = msgspec.json.Decoder(list[Event])
EXACT_DECODER = msgspec.json.Decoder(list[ExactEvent])
