"""Categories and calls of accelerators other than CUDA, and of what is not known at all."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from trace_files import read_text

from building.builders import MAIN, PROCESS, TraceBuilder
from traces.reader.names.vocabulary import Kind, copy_direction, copy_host_memory, event_kind, runtime_kind
from traces.trace import Trace, UnknownCategory

# What nobody here has met: neither a category nor a stream, on a process of its own.
UNMET: dict[str, Any] = {"pid": 4, "tid": 3, "args": {"unit": "AI_CORE", "queue": 3}}


@pytest.mark.parametrize(
    ("category", "kind"),
    [
        ("advisor", Kind.SKIP),
        ("cuda_event", Kind.SKIP),
        ("external_correlation", Kind.SKIP),
        ("collective_comm", Kind.SKIP),
        ("mtia_insight", Kind.SKIP),
        ("mtia_counters", Kind.SKIP),
        ("xpu_scope_profiler", Kind.SKIP),
        ("xpu_runtime", Kind.RUNTIME),
        ("xpu_driver", Kind.RUNTIME),
        ("glow_runtime", Kind.RUNTIME),
        ("xpu_sync", Kind.SYNC),
        ("cuda_sync", Kind.SYNC),
        ("mlu_memcpy", Kind.COPY),
        ("mlu_memset", Kind.COPY),
        ("gpu_memcpy", Kind.COPY),
        ("mlu_user_annotation", Kind.GPU_ANNOTATION),
        ("gpu_user_annotation", Kind.GPU_ANNOTATION),
        ("user_annotation", Kind.ANNOTATION),
        ("privateuse1_kernel", Kind.KERNEL),
        ("hpu_op", Kind.UNKNOWN),
    ],
)
def test_every_category_of_kineto_has_its_meaning(category: str, kind: Kind) -> None:
    assert event_kind("X", category) is kind


@pytest.mark.parametrize(
    ("name", "direction", "memory"),
    [
        ("Memcpy M2D (MEMORY(Unknown) -> DEVICE)", "HtoD", "pageable"),
        ("Memcpy D2M (DEVICE -> MEMORY(Unknown))", "DtoH", "pageable"),
        ("Memcpy H2D (HOST -> DEVICE)", "HtoD", "unknown"),
        ("Memcpy D2D (DEVICE -> DEVICE)", "DtoD", "unknown"),
        ("Memcpy M2H (MEMORY(Unknown) -> HOST)", "HtoH", "unknown"),
        ("Memcpy S2D (SHARED -> DEVICE)", "unknown", "unknown"),
        ("Memcpy HtoD (Pinned -> Device)", "HtoD", "pinned"),
        ("Memcpy PtoP (Device -> Device)", "PtoP", "unknown"),
        ("Memcpy DtoD (Device -> Device)", "DtoD", "unknown"),
    ],
)
def test_copies_state_direction_and_memory(name: str, direction: str, memory: str) -> None:
    assert (copy_direction(name, "gpu_memcpy"), copy_host_memory(name)) == (direction, memory)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("musaLaunchKernel", "launch"),
        ("musaGraphLaunch", "graph_launch"),
        ("musaMemcpyAsync", "memcpy"),
        ("musaStreamSynchronize", "sync"),
        ("muMemAlloc_v2", "allocator"),
        ("cnInvokeKernel", "launch"),
        ("cnrtMemsetAsync", "memset"),
        ("cnrtQueueSync", "sync"),
        ("synStreamSynchronize", "sync"),
        ("aclrtSynchronizeStream", "sync"),
        ("aiuLaunchControlBlocks", "launch"),
        ("aiuMalloc", "allocator"),
        ("synDeviceMalloc", "allocator"),
        ("synHostFree", "allocator"),
        ("AscendCL@aclrtMallocAlign32", "allocator"),
        ("piextUSMDeviceAlloc", "allocator"),
        ("zeMemAllocDevice", "allocator"),
        ("zeMemGetAllocProperties", "other"),
        ("synchronizeStream", "sync"),
        ("zeFenceHostSynchronize", "sync"),
        # Has the host do something later: no kernel, so none can be missing.
        ("cudaLaunchHostFunc", "other"),
        ("cudaStreamWaitEvent", "other"),
        ("urEnqueueEventsWaitWithBarrier", "other"),
    ],
)
def test_calls_of_any_vendor_say_what_they_do(name: str, kind: str) -> None:
    assert runtime_kind(name) == kind


def test_calls_of_an_unknown_runtime_tell_of_a_device() -> None:
    builder = TraceBuilder(device=None)
    builder.op("aten::mm", 0, 50)
    builder.event("nrt_op_linear", "privateuse1_driver", 10, 20)
    assert builder.trace().meta.device_kind == "other"


def test_recorded_events_are_no_device_work() -> None:
    builder = TraceBuilder()
    builder.launch(100, kernel_start=110, kernel_dur=50)
    for at in (0, 130):
        builder.event("cudaEventRecord", "cuda_event", at, 0.001, pid=0, tid=7, args={"device": 0, "stream": 7})
    trace = builder.trace()
    assert len(trace.kernels) == 1
    assert trace.ops["start_ns"].tolist() == [0], "an event at time 0 does not move the origin"
    assert trace.unknown_categories == ()


def xpu(*, linked: str) -> Trace:
    """A launch and a wait by XPU's runtime, each around the same by its driver; `linked` is the one that the kernel belongs to."""
    builder = TraceBuilder(device=None)
    ids = {"runtime": 1, "driver": 2}
    where = {"pid": PROCESS, "tid": MAIN}
    builder.event("urEnqueueKernelLaunchWithArgsExp", "xpu_runtime", 100, 20, args={"correlation": 1}, **where)
    builder.event("zeCommandListAppendLaunchKernel", "xpu_driver", 105, 10, args={"correlation": 2}, **where)
    builder.event("urEventWait", "xpu_runtime", 200, 20, args={"correlation": 3}, **where)
    builder.event("zeEventHostSynchronize", "xpu_driver", 205, 10, args={"correlation": 4}, **where)
    builder.event("urEnqueueKernelLaunchWithArgsExp", "xpu_runtime", 300, 20, args={"correlation": 5}, **where)
    builder.event("gemm_kernel", "kernel", 120, 50, pid=0, tid=64, args={"device": 0, "correlation": ids[linked]})
    return builder.trace()


@pytest.mark.parametrize(
    ("linked", "kinds"),
    [
        ("runtime", ["launch", "other", "sync", "other", "launch"]),
        ("driver", ["other", "launch", "sync", "other", "launch"]),
    ],
)
def test_a_call_that_runtime_and_driver_record_counts_once(linked: str, kinds: list[str]) -> None:
    trace = xpu(linked=linked)
    assert trace.runtime["kind"].tolist() == kinds
    assert trace.kernels[["device", "stream"]].to_numpy().tolist() == [[0, 64]]
    assert trace.meta.device_kind == "xpu"


def test_calls_side_by_side_or_on_other_threads_stay_two() -> None:
    builder = TraceBuilder()
    builder.runtime("cudaLaunchKernel", 0, 10)
    builder.runtime("cudaLaunchKernel", 10, 10)
    builder.runtime("cudaLaunchKernel", 2, 5, thread=MAIN + 1)
    builder.runtime("cudaMemcpyAsync", 30, 10)
    builder.runtime("cudaStreamSynchronize", 32, 5)
    assert "other" not in builder.trace().runtime["kind"].tolist()


def test_unknown_categories_are_counted_by_what_else_their_thread_holds() -> None:
    builder = TraceBuilder(device=None)
    builder.op("aten::mm", 0, 50)
    builder.event("Enqueue", "enqueue", 10, 5)
    for at in (60, 70):
        builder.event("MatMulV2", "", at, 9, **UNMET)
    builder.event("fft", "fpga", 80, 9, pid=7, tid=1, args={"stream": 1})
    trace = builder.trace()
    assert trace.unknown_categories == (
        UnknownCategory("", 2, as_device_work=False, alone=2),
        UnknownCategory("enqueue", 1, as_device_work=False, alone=0),
        UnknownCategory("fpga", 1, as_device_work=True, alone=0),
    )
    assert "category (none) read as nothing (2 events)" in trace.notes
    assert "category fpga read as device work (1 events)" in trace.notes
    assert trace.kernels["name"].tolist() == ["fft"]


def test_of_very_many_unknown_categories_the_fullest_are_named_and_the_rest_counted() -> None:
    builder = TraceBuilder(device=None)
    builder.op("aten::mm", 0, 50)
    for number in range(30):
        for at in range(1 + (number == 29)):
            builder.event("thing", f"mine {number}", 60 + at, 5)
    trace = builder.trace()
    assert len(trace.unknown_categories) == 30
    notes = [note for note in trace.notes if "categor" in note]
    assert notes[0] == "category mine 29 read as nothing (2 events)"
    assert len(notes) == 21
    assert notes[-1] == "10 further unknown categories (10 events)"


def test_the_same_from_a_bare_list_with_times_as_text(tmp_path: Path) -> None:
    events = [
        {"ph": "M", "name": "process_name", "pid": 4, "tid": 0, "args": {"name": "Ascend Hardware"}},
        {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "ts": "1699529623106750.120", "dur": 50.5, "pid": 1, "tid": 1},
        {"ph": "X", "name": "MatMulV2", "ts": "1699529623106790.480", "dur": 90, **UNMET},
    ]
    trace = read_text(tmp_path, json.dumps(events))
    assert len(trace.ops) == 1
    assert trace.unknown_categories == (UnknownCategory("", 1, as_device_work=False, alone=1),)
