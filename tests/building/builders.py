"""TraceBuilder: small traces built in code, one situation each, written as torch writes them and read by the real reader.

All times are microseconds, as in the file format. Every method returns the builder or an id, so that a world reads top-down:

    builder = TraceBuilder()
    for number in range(3):
        at = number * 100_000
        builder.step(number, at, 100_000)
        builder.loader(at, 40_000)
        builder.launch(at + 50_000, kernel_start=at + 50_010, kernel_dur=45_000)
    trace = builder.trace()
"""

from __future__ import annotations

import atexit
import shutil
import tempfile
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import msgspec

from building.json_text import json_text
from traces.fixed_frame import FixedFrame
from traces.reader.read import read
from traces.schema import SCHEMA
from traces.trace import Trace

PROCESS = 4242
MAIN = 4242
AUTOGRAD = 4300

CUDA_DEVICE = {
    "id": 0,
    "name": "NVIDIA H100 80GB HBM3",
    "totalGlobalMem": 85_000_000_000,
    "computeMajor": 9,
    "computeMinor": 0,
    "warpSize": 32,
    "numSms": 132,
}
ROCM_DEVICE = {
    "id": 0,
    "name": "AMD Instinct MI300X",
    "totalGlobalMem": 205_000_000_000,
    "computeMajor": 9,
    "computeMinor": 4,
    "warpSize": 64,
    "numSms": 304,
}


class TraceBuilder:
    """Collects events; `trace()` writes and reads them.

    Args:
        device: `cuda`, `rocm` or None for a CPU-only trace.
        advisor: What `advisor collect` would have recorded (top-level key `advisor`).
        top: Further top-level keys.
    """

    def __init__(
        self, device: str | None = "cuda", *, advisor: dict[str, Any] | None = None, top: dict[str, Any] | None = None
    ) -> None:
        self.device = device
        self.events: list[dict[str, Any]] = []
        self.top: dict[str, Any] = {"schemaVersion": 1, "deviceProperties": []}
        if device == "cuda":
            self.top |= {"deviceProperties": [dict(CUDA_DEVICE)], "cuda_runtime_version": 12060}
        elif device == "rocm":
            self.top |= {"deviceProperties": [dict(ROCM_DEVICE)], "hip_runtime_version": 60_300}
        if advisor is not None:
            self.top["advisor"] = advisor
        self.top |= top or {}
        self._next_id = 1
        self._next_op = 0

    def event(self, name: str, category: str, start: float, dur: float | None, **extra: Any) -> dict[str, Any]:
        """Appends one complete event as given."""
        event: dict[str, Any] = {"ph": "X", "cat": category, "name": name, "pid": PROCESS, "tid": MAIN, "ts": start}
        if dur is not None:
            event["dur"] = dur
        event |= extra
        self.events.append(event)
        return event

    def step(self, number: int, start: float, dur: float, **extra: Any) -> TraceBuilder:
        """A ProfilerStep mark."""
        self.event(f"ProfilerStep#{number}", "user_annotation", start, dur, **extra)
        return self

    def annotation(self, name: str, start: float, dur: float, thread: int = MAIN) -> TraceBuilder:
        """A user annotation on a host thread."""
        self.event(name, "user_annotation", start, dur, tid=thread)
        return self

    def loader(self, start: float, dur: float, *, workers: int = 0) -> TraceBuilder:
        """One `__next__` of a DataLoader."""
        kind = "_MultiProcessingDataLoaderIter" if workers else "_SingleProcessDataLoaderIter"
        return self.annotation(f"enumerate(DataLoader)#{kind}.__next__", start, dur)

    def optimizer(self, start: float, dur: float, name: str = "Adam") -> TraceBuilder:
        """The span of an optimizer's step."""
        return self.annotation(f"Optimizer.step#{name}.step", start, dur)

    def zero_grad(self, start: float, dur: float, name: str = "Adam") -> TraceBuilder:
        """The span of an optimizer's zero_grad."""
        return self.annotation(f"Optimizer.zero_grad#{name}.zero_grad", start, dur)

    def op(self, name: str, start: float, dur: float, thread: int = MAIN, **args: Any) -> int:
        """An operator; returns its external id. Arguments by their names in the file, such as `**{"Input Dims": [[2, 3]]}`."""
        # Of a count of its own, without holes: what else is numbered is not between ops.
        self._next_op += 1
        identity = self._next_op
        self.event(name, "cpu_op", start, dur, tid=thread, args={"External id": identity, **args})
        return identity

    def runtime(self, name: str, start: float, dur: float, thread: int = MAIN, **args: Any) -> int:
        """A runtime call; returns its correlation id."""
        correlation = args.pop("correlation", None) or self._identity()
        self.event(name, "cuda_runtime", start, dur, tid=thread, args={"correlation": correlation, **args})
        return correlation

    def kernel(
        self,
        name: str,
        start: float,
        dur: float,
        *,
        stream: int = 7,
        device: int = 0,
        correlation: int | None = None,
        **args: Any,
    ) -> TraceBuilder:
        """A kernel on a device."""
        arguments = {"device": device, "stream": stream, **args}
        if correlation is not None:
            arguments["correlation"] = correlation
        self.event(name, "kernel", start, dur, pid=device, tid=stream, args=arguments)
        return self

    def launch(
        self,
        at: float,
        *,
        kernel_start: float,
        kernel_dur: float,
        name: str = "vectorized_elementwise_kernel<4, float>",
        call_dur: float = 5,
        thread: int = MAIN,
        stream: int = 7,
        device: int = 0,
        op: str | None = "aten::add",
        **args: Any,
    ) -> int:
        """A launch call, inside an op of its own extent unless `op` is None, and the kernel it launches."""
        if op is not None:
            self.op(op, at, call_dur, thread=thread)
        call = "hipLaunchKernel" if self.device == "rocm" else "cudaLaunchKernel"
        correlation = self.runtime(call, at, call_dur, thread=thread)
        self.kernel(name, kernel_start, kernel_dur, stream=stream, device=device, correlation=correlation, **args)
        return correlation

    def copy(
        self,
        direction: str,
        at: float,
        call_dur: float,
        *,
        start: float,
        dur: float,
        size: int = 1 << 20,
        pinned: bool = False,
        thread: int = MAIN,
        stream: int = 7,
        op: str | None = "aten::copy_",
    ) -> int:
        """A memory copy: its call (inside an op) and its work on the device. `direction` is HtoD, DtoH or DtoD."""
        if op is not None:
            self.op(op, at, call_dur, thread=thread)
        correlation = self.runtime("cudaMemcpyAsync", at, call_dur, thread=thread)
        host = "Pinned" if pinned else "Pageable"
        ends = {"HtoD": f"{host} -> Device", "DtoH": f"Device -> {host}", "DtoD": "Device -> Device"}[direction]
        self.event(
            f"Memcpy {direction} ({ends})",
            "gpu_memcpy",
            start,
            dur,
            pid=0,
            tid=stream,
            args={"device": 0, "stream": stream, "correlation": correlation, "bytes": size},
        )
        return correlation

    def counter(self, name: str, at: float, value: float, *, device: int = 0) -> TraceBuilder:
        """A sample of a device's counter, as torch 2.15 writes it: a process without a number, a series without a name."""
        process = f"GPU {device} Counters"
        self.events.append({"ph": "C", "name": name, "pid": process, "ts": at, "args": {"": value}})
        return self

    def python(self, name: str, start: float, dur: float, thread: int = MAIN) -> TraceBuilder:
        """A Python call recorded with stacks, named as torch names it: `train.py(88): step`."""
        self.event(name, "python_function", start, dur, tid=thread, args={"Python id": self._identity()})
        return self

    def document(self) -> dict[str, Any]:
        """The whole file as a dict."""
        return {**self.top, "traceEvents": self.events}

    def write(self, path: Path) -> Path:
        """Writes the file as plain JSON."""
        path.write_text(self.content())
        return path

    def trace(self) -> Trace:
        """The trace as the real reader sees it; equal worlds are read once, and each gets frames of its own."""
        known = as_read(self.content())
        return msgspec.structs.replace(known, **{name: FixedFrame(getattr(known, name), copy=True) for name in SCHEMA})

    def content(self) -> str:
        """The whole file as text: what tells worlds apart."""
        return json_text(self.document())

    def _identity(self) -> int:
        self._next_id += 1
        return self._next_id


@lru_cache(maxsize=512)
def as_read(text: str) -> Trace:
    """A trace that nobody may change, read once for equal texts."""
    path = _folder() / "trace.json"
    path.write_text(text)
    return read(path)


@cache
def _folder() -> Path:
    """One for all that this process reads: making and removing one for each would take as long as reading does."""
    folder = tempfile.mkdtemp()
    atexit.register(shutil.rmtree, folder)
    return Path(folder)
