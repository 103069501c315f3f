"""The declared columns of every public frame: dtype, unit by suffix, one sentence.

A test compares every frame the reader makes with this table, and a rule may read only what stands here.
"""

from __future__ import annotations

import msgspec


class Column(msgspec.Struct, frozen=True):
    """One column of a frame.

    Args:
        dtype: pandas dtype: `int64`, `int32` (a position), `Int64` (may be NA), `float64` (may be NaN), `bool`, `category`.
        text: What it holds.
    """

    dtype: str
    text: str


_NAME = {"name": Column("category", "The event's name as recorded.")}
_TIME = {
    "start_ns": Column("int64", "Start, from the earliest event of the trace."),
    "dur_ns": Column("int64", "Duration."),
    "end_ns": Column("int64", "start_ns + dur_ns."),
}
_THREAD = {
    "process": Column("int64", "Row group of the process: equal for threads of one process."),
    "thread": Column("int32", "Index into the `threads` frame."),
}
_DEVICE = {
    "device": Column("int64", "Device number within the process."),
    "stream": Column("int64", "Stream number as recorded; 0 is a real stream on ROCm."),
}
_IDS = {
    "correlation": Column("Int64", "Links a launch call with the device work it launched; NA where absent."),
    "external_id": Column(
        "Int64", "Links device work and calls with an op; unreliable in torch 1.13-2.2 (rules.md PG007)."
    ),
}
_MESSAGE = {
    "message": Column(
        "category", "What the arguments say of the collective, see `traces.messages`; NA where they name none."
    )
}
# Text, because a handful of extents serve a million kernels. Not read for kernels that state blocks per multiprocessor.
_EXTENT = {
    "grid": Column(
        "category", "Extent of the launch as JSON text, in blocks; work-items in `hipExtModuleLaunchKernel`."
    ),
    "block": Column("category", "Threads of a block as JSON text, three numbers; NA where not recorded."),
}

SCHEMA: dict[str, dict[str, Column]] = {
    "threads": {
        "process": Column("int64", "Row group of the process."),
        "pid": Column("str", "Process id as recorded."),
        "tid": Column("str", "Thread id as recorded."),
        "name": Column("str", "Thread name, or NA."),
    },
    "steps": {
        "number": Column("int64", "N of ProfilerStep#N."),
        **_THREAD,
        **_TIME,
    },
    "ops": {
        **_NAME,
        **_THREAD,
        **_TIME,
        "external_id": _IDS["external_id"],
        "sequence": Column("Int64", "Autograd sequence number, shared by a forward op and its backward."),
        "input_dims": Column("category", "Input shapes as JSON text, NA where not recorded."),
        "input_types": Column("category", "Input types as JSON text, NA where not recorded."),
        "input_strides": Column(
            "category",
            "Strides of the inputs of convolutions and pointwise ops as JSON text; NA before torch 2.4, else NA.",
        ),
        "concrete_inputs": Column(
            "category", "Numbers and lists among the inputs of convolutions and attention as JSON text, else NA."
        ),
        "stated_flops": Column("float64", "Operations that Inductor counts in its kernel; NaN for other ops."),
        "stated_bytes": Column("float64", "Bytes that Inductor's kernel reads and writes; NaN for other ops."),
        "stack": Column("category", "`Call stack` of torch <= 2.0: frames separated by `;`, innermost first; else NA."),
    },
    "annotations": {
        **_NAME,
        "kind": Column("category", "loader, optimizer_step, zero_grad, compile, module, again or user."),
        **_THREAD,
        **_TIME,
    },
    "runtime": {
        **_NAME,
        "kind": Column("category", "launch, graph_launch, memcpy, memset, sync, allocator or other."),
        **_THREAD,
        **_TIME,
        **_IDS,
        **_EXTENT,
    },
    "kernels": {
        **_NAME,
        **_DEVICE,
        **_TIME,
        **_IDS,
        "collective": Column(
            "bool", "Whether the kernel belongs to a collective, by its name, by its arguments or by what launched it."
        ),
        "doubtful": Column(
            "bool", "Whether its name speaks of computing and communicating, and nothing else tells which."
        ),
        **_MESSAGE,
        "blocks_per_sm": Column("float64", "Thread blocks per multiprocessor; NaN on ROCm and in torch 1.8."),
        "warps_per_sm": Column("float64", "Warps per multiprocessor; NaN on ROCm."),
        **_EXTENT,
        "occupancy_ratio": Column("float64", "Estimated achieved occupancy, 0..1; an estimate, 0 for many kernels."),
        "residency": Column(
            "category",
            "What limits how many blocks a multiprocessor holds, as JSON text; NA before Kineto of March 2026.",
        ),
    },
    "copies": {
        **_NAME,
        "direction": Column("category", "HtoD, DtoH, DtoD, PtoP, HtoH, memset or unknown."),
        "host_memory": Column("category", "pageable, pinned or unknown: the host side of the copy."),
        **_DEVICE,
        **_TIME,
        **_IDS,
        "size_bytes": Column("Int64", "Bytes moved; NA where not recorded."),
    },
    "collectives": {
        **_NAME,
        **_THREAD,
        **_TIME,
        "external_id": _IDS["external_id"],
        "input_dims": Column("category", "Input shapes as JSON text, NA where not recorded."),
        "input_types": Column("category", "Input types as JSON text, NA where not recorded."),
        "concrete_inputs": Column(
            "category", "Numbers and lists among the inputs of messages between two ranks as JSON text, else NA."
        ),
        "message_elements": Column(
            "Int64", "Elements that this rank sends; NA before torch 2.2 and beside `record_param_comms`."
        ),
        "message_type": Column("category", "Their type as JSON text, NA likewise."),
        **_MESSAGE,
    },
    "syncs": {
        **_NAME,
        **_DEVICE,
        **_TIME,
        **_IDS,
        "awaited": Column(
            "Int64", "Of a wait for an event the correlation of the call that recorded it, negative unknown; else NA."
        ),
    },
    "python": {
        **_NAME,
        **_THREAD,
        **_TIME,
        "python_id": Column("Int64", "Id of the call."),
        "python_parent_id": Column("Int64", "Id of the caller's call."),
    },
    # Passes of Python's garbage collector.
    "gc": {**_NAME, **_THREAD, **_TIME},
    "memory": {
        "start_ns": _TIME["start_ns"],
        **_THREAD,
        "delta_bytes": Column("Int64", "Bytes allocated (positive) or freed (negative)."),
        "allocated_bytes": Column("Int64", "Allocated in total afterwards; NA before torch 1.10."),
        "reserved_bytes": Column("Int64", "Reserved by the caching allocator afterwards; NA before torch 1.10."),
        "device_type": Column("Int64", "0 CPU, 1 CUDA/ROCm, as in c10::DeviceType."),
        "device_id": Column("Int64", "Device number; -1 in the file for the CPU becomes NA."),
    },
    # Samples of a device's counters: clocks, power, temperature, activity.
    "counters": {
        "name": Column("category", "The counter as recorded, with its unit: `SM Clock (MHz)`."),
        "device": Column("int64", "Device number."),
        "start_ns": Column("int64", "When it was sampled, from the earliest event of the trace."),
        "value": Column("float64", "In the counter's unit."),
    },
    # Both ends of each dependency between nodes of a replayed CUDA graph (torch 2.15, where it was asked to record them).
    "graph_edges": {
        "edge": Column("int64", "Number of the dependency."),
        "arrives": Column(
            "bool", "Whether this is its end at the node that waits; else at the one that is waited for."
        ),
        **_DEVICE,
        "start_ns": Column("int64", "When the awaited node ends, or the waiting one begins."),
    },
    "gpu_annotations": {**_NAME, **_DEVICE, **_TIME},
    "overhead": {**_NAME, **_THREAD, **_TIME},
    "quarantined": {
        "kind": Column("category", "The frame the event would have been in."),
        **_NAME,
        "start_ns": Column("int64", "Start as recorded, from the earliest sound event."),
        "dur_ns": Column("int64", "Duration as recorded; absurd, so never part of a sum."),
        "reason": Column("category", "absurd-duration, absurd-start or negative-duration."),
    },
}
