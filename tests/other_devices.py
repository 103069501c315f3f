"""The same program on other devices, and replayed from a graph: built traces changed in place, times stay as they are."""

from __future__ import annotations

from builders import TraceBuilder

_XPU_CALLS = {
    "cudaLaunchKernel": "urEnqueueKernelLaunchWithArgsExp",
    "cudaMemcpyAsync": "urEnqueueUSMMemcpy",
    "cudaStreamSynchronize": "urQueueFinish",
    "cudaDeviceSynchronize": "urQueueFinish",
}
_XPU_COPIES = {
    "HtoD": "Memcpy M2D (MEMORY(Unknown) -> DEVICE)",
    "DtoH": "Memcpy D2M (DEVICE -> MEMORY(Unknown))",
    "DtoD": "Memcpy D2D (DEVICE -> DEVICE)",
}
_PRIVATE = {"kernel": "privateuse1_kernel", "gpu_memcpy": "privateuse1_memcpy", "cuda_runtime": "privateuse1_runtime"}
_OF_THE_DEVICE = ("kernel", "gpu_memcpy", "gpu_memset", "cuda_runtime", "cuda_driver")


def xpu(builder: TraceBuilder) -> TraceBuilder:
    """Intel's runtime, as torch 2.6 and later write it (tests/traces/reader/test_backends.py)."""
    _of_another_maker(builder, {"id": 0, "name": "Intel(R) Data Center GPU Max 1550"})
    for event in builder.events:
        if event["cat"] == "cuda_runtime":
            event |= {"cat": "xpu_runtime", "name": _XPU_CALLS.get(event["name"], event["name"])}
        elif event["cat"] == "gpu_memcpy":
            event["name"] = _XPU_COPIES[event["name"].split()[1]]
    return builder


def private_use(builder: TraceBuilder) -> TraceBuilder:
    """A backend of its maker's own, as Gaudi and others register one: categories of PrivateUse1, calls of no known runtime."""
    _of_another_maker(builder, {"id": 0, "name": "HPU"})
    for event in builder.events:
        if event["cat"] == "cuda_runtime":
            event["name"] = event["name"].replace("cudaLaunchKernel", "synLaunch").replace("cudaMemcpy", "synMemCopy")
        event["cat"] = _PRIVATE.get(event["cat"], event["cat"])
    return builder


def mps(builder: TraceBuilder) -> TraceBuilder:
    """Apple's GPU: torch records nothing but the host's ops."""
    builder.events[:] = [event for event in builder.events if event["cat"] not in _OF_THE_DEVICE]
    builder.top = {"schemaVersion": 1, "deviceProperties": []}
    return builder


def graphed(builder: TraceBuilder) -> TraceBuilder:
    """Kernels that one call replays, step by step: the first launch of a step becomes the graph's, the others and all ops go."""
    numbers: dict[int, int] = {}
    kept = []
    steps = sorted(event["ts"] for event in builder.events if event["name"].startswith("ProfilerStep#"))
    graphs: dict[int, int] = {}
    for event in builder.events:
        step = sum(event["ts"] >= start for start in steps)
        if event["name"] == "cudaLaunchKernel":
            own = event["args"]["correlation"]
            graph = graphs.setdefault(step, own)
            numbers[own] = graph
            if graph != own:
                continue
            event["name"] = "cudaGraphLaunch"
        elif event["cat"] == "cpu_op":
            continue
        kept.append(event)
    for node, event in enumerate(kept):
        if event["cat"] == "kernel":
            event["args"] |= {
                "correlation": numbers[event["args"]["correlation"]],
                "graph id": 3,
                "graph node id": node,
            }
    builder.events[:] = kept
    return builder


def _of_another_maker(builder: TraceBuilder, device: dict[str, object]) -> None:
    builder.top["deviceProperties"] = [device]
    for name in ("cuda_runtime_version", "cuda_driver_version"):
        builder.top.pop(name, None)
