"""The same program on other devices, and replayed from a graph: built traces changed in place, times stay as they are."""

from __future__ import annotations

from building.builders import TraceBuilder

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


def ascend(builder: TraceBuilder) -> TraceBuilder:
    """`trace_view.json` of torch_npu: device work and CANN's calls are events without a category, on processes of their own names.

    msprof-analyze and CANN's profiler document the file: processes Python, CANN, Ascend Hardware and Overlap Analysis.
    """
    processes = {"Python": 4242, "CANN": 900, "Ascend Hardware": 901, "Overlap Analysis": 902}
    for event in builder.events:
        category = event["cat"]
        args = event.setdefault("args", {})
        if category == "kernel":
            del event["cat"]
            args |= {"Model Id": 4_294_967_295, "Task Type": "AI_CORE", "Stream Id": args.pop("stream"), "Batch Id": 0}
            args |= {"connection_id": args.pop("correlation", 0), "Task Id": len(args)}
            args.pop("device")
            event |= {"pid": processes["Ascend Hardware"], "tid": args["Stream Id"]}
        elif category == "gpu_memcpy":
            del event["cat"]
            event |= {"name": "MEMCPY_ASYNC", "pid": processes["Ascend Hardware"], "tid": args["stream"]}
            event["args"] = {
                "Task Type": "MEMCPY_ASYNC",
                "Stream Id": args["stream"],
                "connection_id": args["correlation"],
            }
        elif category == "cuda_runtime":
            del event["cat"]
            called = {
                "cudaLaunchKernel": "launch",
                "cudaMemcpyAsync": "aclrtMemcpyAsync",
                "cudaGraphLaunch": "aclmdlRIExecuteAsync",
            }
            name = called.get(str(event["name"]), "aclrtSynchronizeStreamWithTimeout")
            event |= {"name": f"Node@{name}" if name == "launch" else f"AscendCL@{name}", "pid": processes["CANN"]}
            event["args"] = {"connection_id": args["correlation"]}
    builder.top = {"schemaVersion": 1, "deviceProperties": []}
    named = [
        {"ph": "M", "name": "process_name", "pid": number, "tid": 0, "args": {"name": name}}
        for name, number in processes.items()
    ]
    builder.events[:0] = named
    return builder
