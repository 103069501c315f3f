"""A built trace in the spelling of other versions and vendors, as the recorded traces of each have it (rules.md section 3).

Each function takes a builder as torch 2 on CUDA writes it and changes its events in place; times stay as they are.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Callable
from typing import Any

from building.builders import ROCM_DEVICE, TraceBuilder

Dialect = Callable[[TraceBuilder], TraceBuilder]

_OLD_CATEGORIES = {
    "cpu_op": "Operator",
    "user_annotation": "Operator",
    "cuda_runtime": "Runtime",
    "cuda_driver": "Runtime",
    "kernel": "Kernel",
    "gpu_memcpy": "Memcpy",
    "gpu_memset": "Memset",
}
_ON_DEVICE = ("kernel", "gpu_memcpy", "gpu_memset")


def torch_1_9(builder: TraceBuilder) -> TraceBuilder:
    """Ranges among operators, text thread ids, `external id` in lower case on calls and device work, versions not stated."""
    for event in builder.events:
        category = event.get("cat")
        # Samples of counters are on no thread.
        if "tid" in event:
            event["tid"] = f"stream {event['tid']}" if category in _ON_DEVICE else str(event["tid"])
        args = event.get("args", {})
        if category in (*_ON_DEVICE, "cuda_runtime", "cuda_driver"):
            args["external id"] = args.pop("External id", 0)
        for name in ("Total Allocated", "Total Reserved"):
            args.pop(name, None)
        if category is not None:
            event["cat"] = _OLD_CATEGORIES.get(str(category), category)
        if event.get("cat") == "cpu_instant_event":
            del event["cat"]
    builder.top = {key: value for key, value in builder.top.items() if not key.endswith(("_version", "with_stack"))}
    return builder


def torch_1_8(builder: TraceBuilder) -> TraceBuilder:
    """As 1.9, with every op nested in itself, no blocks per multiprocessor, and nothing said of the device."""
    doubled: list[dict[str, Any]] = []
    for event in builder.events:
        doubled.append(event)
        if event.get("cat") == "cpu_op":
            again = copy.deepcopy(event)
            again["args"]["External id"] += 1_000_000
            doubled.append(again)
        event.get("args", {}).pop("blocks per SM", None)
    builder.events[:] = doubled
    torch_1_9(builder)
    builder.top = {}
    return builder


def repeated_ids(builder: TraceBuilder) -> TraceBuilder:
    """Torch 1.13 to 2.2: calls and device work state their correlation as `External id`."""
    for event in builder.events:
        args = event.get("args", {})
        if "correlation" in args:
            args["External id"] = args["correlation"]
    return builder


_HIP_CALLS = {
    "cudaMemcpyAsync": "hipMemcpyWithStream",
    "cudaLaunchKernelExC": "hipLaunchKernel",
    "cuLaunchKernel": "hipModuleLaunchKernel",
}
_ROCM_KERNELS = (
    (re.compile(r"ncclDevKernel_\w+\(.*"), "ncclDevKernel_Generic(ncclDevKernelArgsStorage<4096ul>)"),
    (re.compile(r".*(?:nchwToNhwc|nhwcToNchw).*"), "batched_transpose_32x32_dword"),
    (re.compile(r".*(?:implicit_gemm|cudnn).*"), "miopenSp3AsmConv_v30_3_1_gfx94x_fp32_f2x3_stride1"),
    (
        re.compile(r".*(?:bf16|h884|s16816).*gemm.*|.*gemm.*bf16.*|nvjet.*"),
        "Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT64x16x32_MI16x16x1_SN",
    ),
    (re.compile(r".*gemm.*"), "Cijk_Alik_Bljk_SB_Bias_AS_SAV_UserArgs_MT64x16x32_MI16x16x1_SN"),
)


def rocm(builder: TraceBuilder) -> TraceBuilder:
    """HIP calls in CUDA's categories, `Host -> Device` copies, kernels with `grid` and `block` alone, RCCL's one kernel name."""
    stated = builder.top.get("deviceProperties", [])
    devices = [
        {**ROCM_DEVICE, "totalGlobalMem": device["totalGlobalMem"], "id": index} for index, device in enumerate(stated)
    ]
    builder.top = {key: value for key, value in builder.top.items() if not key.startswith("cuda_")}
    builder.top |= {"deviceProperties": devices, "hip_runtime_version": 60_443_483, "roctracer_version": "4.1"}
    for event in builder.events:
        args = event.get("args", {})
        category = event.get("cat")
        if category in ("cuda_runtime", "cuda_driver"):
            name = str(event["name"])
            event["name"] = _HIP_CALLS.get(name, re.sub(r"^cu(?:da)?", "hip", name))
            event["cat"] = "cuda_runtime"
        elif category == "gpu_memcpy":
            event["name"] = re.sub("Pageable|Pinned", "Host", str(event["name"]))
        elif category == "kernel":
            for pattern, name in _ROCM_KERNELS:
                if pattern.match(str(event["name"])):
                    event["name"] = name
                    break
            blocks = args.pop("blocks per SM", None)
            args["kind"] = "Dispatch Kernel"
            if blocks is not None:
                args |= {"grid": [round(blocks * ROCM_DEVICE["numSms"]), 1, 1], "block": [256, 1, 1]}  # type: ignore[operator]
    return builder


DIALECTS: dict[str, Dialect] = {
    "torch 1.8": torch_1_8,
    "torch 1.9": torch_1_9,
    "repeated ids": repeated_ids,
    "ROCm": rocm,
}
