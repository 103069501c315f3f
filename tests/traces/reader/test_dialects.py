"""Traces of every torch version and device end up in one vocabulary."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from trace_files import SHARED, each_shared, needs_shared, read_text, repaired

from building.builders import TraceBuilder
from running.recorded import trace_of
from traces.trace import Capability


def legacy_events() -> list[dict[str, object]]:
    """Events as torch 1.8 wrote them: capital categories, text ids, ranges among operators, lower-case external ids."""
    main = {"pid": "4242", "tid": "4242 (python)"}
    device = {"pid": 0, "tid": "stream 7"}
    ids = {"external id": 7, "correlation": 99, "stream": 7, "device": 0}
    return [
        {"ph": "X", "cat": "Operator", "name": "ProfilerStep#0", "ts": 100, "dur": 1000, **main, "args": {}},
        {"ph": "X", "cat": "Operator", "name": "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__",
         "ts": 110, "dur": 50, **main, "args": {}},
        {"ph": "X", "cat": "Operator", "name": "aten::mm", "ts": 200, "dur": 100, **main,
         "args": {"External id": "7", "Input dims": [[2, 3], [3, 4]], "Call stack": "a.py(1): f;b.py(2): g"}},
        {"ph": "X", "cat": "Runtime", "name": "cudaLaunchKernel", "ts": 210, "dur": 5, **main, "args": ids},
        {"ph": "X", "cat": "Kernel", "name": "volta_sgemm", "ts": 230, "dur": 60, **device, "args": ids},
        {"ph": "X", "cat": "Memcpy", "name": "Memcpy HtoD (Pageable -> Device)", "ts": 300, "dur": 6, **device,
         "args": {**ids, "bytes": 4096}},
        {"ph": "i", "name": "[memory]", "ts": 205, "s": "t", **main, "args": {"Device Type": 0, "Bytes": 64}},
        {"ph": "X", "cat": "Trace", "name": "PyTorch Profiler (0)", "ts": 90, "dur": 2000, "pid": "Traces", "tid": "x"},
    ]  # fmt: skip


def test_torch_1_8_writes_a_bare_list(tmp_path: Path) -> None:
    trace = read_text(tmp_path, json.dumps(legacy_events()))
    assert len(trace.ops) == len(trace.runtime) == len(trace.kernels) == len(trace.copies) == len(trace.steps) == 1
    assert trace.steps["number"].tolist() == [0]
    assert trace.annotations["kind"].tolist() == ["loader"]
    assert trace.kernels["stream"].tolist() == [7]
    assert trace.kernels["external_id"].tolist() == trace.ops["external_id"].tolist() == [7]
    assert trace.ops["input_dims"].tolist() == ["[[2, 3], [3, 4]]"]
    assert trace.ops["stack"].tolist() == ["a.py(1): f;b.py(2): g"]
    assert trace.copies[["direction", "host_memory"]].to_numpy().tolist() == [["HtoD", "pageable"]]
    assert trace.copies["size_bytes"].tolist() == [4096]
    assert trace.memory["delta_bytes"].tolist() == [64]
    assert trace.meta.device_kind == "cuda"
    assert any("bare list" in note for note in trace.notes)
    assert repaired(trace) == {}
    expected = {Capability.HOST_OPS, Capability.DEVICE, Capability.LAUNCHES, Capability.STEPS, Capability.STACKS}
    assert expected <= trace.capabilities


def test_a_stream_in_the_arguments_wins_over_the_thread(tmp_path: Path) -> None:
    builder = TraceBuilder()
    builder.event("k", "kernel", 10, 5, pid=3, tid="stream 9", args={"device": 1, "stream": 20})
    builder.event("k", "kernel", 20, 5, pid=3, tid="stream 9", args={})
    trace = builder.trace()
    assert trace.kernels[["device", "stream"]].to_numpy().tolist() == [[1, 20], [3, 9]]


def test_rocm_is_told_by_its_calls() -> None:
    builder = TraceBuilder(device="rocm")
    builder.launch(10, kernel_start=20, kernel_dur=5, stream=0, name="Cijk_Ailk_Bljk")
    builder.runtime("hipMemcpyWithStream", 30, 5)
    builder.runtime("hipDeviceSynchronize", 40, 5)
    trace = builder.trace()
    assert trace.meta.device_kind == "rocm"
    assert trace.runtime["kind"].tolist() == ["launch", "memcpy", "sync"]
    assert trace.kernels["stream"].tolist() == [0]
    assert trace.kernels["blocks_per_sm"].isna().all()


def test_an_unknown_accelerator_is_read_by_what_its_events_say(tmp_path: Path) -> None:
    builder = TraceBuilder(device=None)
    builder.event("launch", "mtia_runtime", 1, 2, args={"correlation": 4})
    builder.event("job", "mtia_ccp_events", 3, 2, args={"correlation": 4, "device": 0, "stream": 1})
    builder.event("work", "new_device_kernel", 6, 2, args={"stream": 1})
    builder.event("thing", "something_else", 6, 2)
    trace = builder.trace()
    assert trace.meta.device_kind == "mtia"
    assert len(trace.runtime) == 1
    assert len(trace.kernels) == 2
    assert "category new_device_kernel read as device work (1 events)" in trace.notes
    assert "category something_else read as nothing (1 events)" in trace.notes


def test_a_trace_without_device_is_a_cpu_trace() -> None:
    builder = TraceBuilder(device=None)
    builder.step(1, 0, 100)
    builder.op("aten::mm", 5, 50)
    trace = builder.trace()
    assert trace.meta.device_kind == "cpu"
    assert trace.capabilities == {Capability.HOST_OPS, Capability.STEPS}


def test_sync_events_are_told_by_category_not_by_stream() -> None:
    builder = TraceBuilder()
    builder.kernel("k", 1, 5)
    builder.event("Context Sync", "cuda_sync", 2, 9, pid=0, tid=4294967295, args={"stream": 4294967295, "device": 0})
    trace = builder.trace()
    assert len(trace.kernels) == 1
    assert trace.syncs["stream"].tolist() == [4294967295]


KINDS = {
    "hta_mi250_minitoy": "rocm", "tracelens_gpu_only": "rocm", "tracelens_mi300x_ddp_resnet": "rocm",
    "tracelens_vllm_decode_hipgraph": "rocm", "tracelens_torch_compile_triton": "rocm", "hta_mtia_inference": "mtia",
    "hta_cpu_only_gloo_rank34": "cpu", "hta_non_gpu": "cpu",
}  # fmt: skip


@needs_shared
@each_shared
def test_a_recorded_trace_shows_its_device(path: Path) -> None:
    trace = trace_of(path)
    assert trace.meta.device_kind == KINDS.get(path.name.split(".")[0], "cuda")
    assert trace.meta.events > 0
    assert (Capability.DEVICE in trace.capabilities) == bool(len(trace.kernels) or len(trace.copies))


@needs_shared
@pytest.mark.parametrize(
    "name", ["kineto_resnet50_workers0_a.pt.trace", "kineto_resnet50_workers0_d_barelist.pt.trace"]
)
def test_steps_and_loaders_of_old_traces_are_found(name: str) -> None:
    trace = trace_of(SHARED / f"{name}.json.gz")
    assert len(trace.steps) > 0
    assert (trace.annotations["kind"] == "loader").sum() >= len(trace.steps)
    assert not trace.ops["name"].str.startswith("ProfilerStep").any()
