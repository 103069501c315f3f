"""Traces with very much of one thing, as few profilers write: a device, a step, a name or a thread for each event.

Each kind takes how many there are to be and gives the events; what they cost may grow as their number does, and no faster.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from building.builders import PROCESS

Event = dict[str, Any]

# Four steps of this length stand for those of a recording, whatever lies in them.
_STEPS, _STEP_US = 4, 1_000_000.0


def _at(number: int, many: int) -> float:
    """When the event of a number begins, so that all of them fill the steps evenly."""
    return number * _STEPS * _STEP_US / many


def _complete(category: str, name: str, start: float, dur: float, *, tid: Any = PROCESS, **rest: Any) -> Event:
    return {"ph": "X", "cat": category, "name": name, "pid": PROCESS, "tid": tid, "ts": start, "dur": dur} | rest


def _step(number: int, start: float, dur: float) -> Event:
    return _complete("user_annotation", f"ProfilerStep#{number}", start, dur)


def _marks() -> Iterator[Event]:
    for number in range(_STEPS):
        yield _step(number, number * _STEP_US, _STEP_US)


def _launch(start: float, number: int, **rest: Any) -> Event:
    return _complete("cuda_runtime", "cudaLaunchKernel", start, 0.5, args={"correlation": number, "cbid": 211}, **rest)


def _kernel(
    name: str, start: float, dur: float, *, correlation: int, device: int = 0, stream: int = 7, **args: Any
) -> Event:
    told = {"device": device, "stream": stream, "correlation": correlation, **args}
    return _complete("kernel", name, start, dur, tid=stream, args=told) | {"pid": device}


def _steps(many: int) -> Iterator[Event]:
    for number in range(many):
        yield _step(number, number * 100.0, 100.0)
        yield _complete("cpu_op", "aten::mm", number * 100.0 + 10, 50.0, args={"External id": number + 1})


def _steps_of_a_device(many: int) -> Iterator[Event]:
    for number in range(many):
        at = number * 100.0
        yield _step(number, at, 100.0)
        yield _complete("cpu_op", "aten::mm", at + 10, 30.0, args={"External id": number + 1})
        yield _launch(at + 15, number + 1)
        yield _kernel("gemm", at + 20, 50.0, correlation=number + 1)


def _devices(many: int) -> Iterator[Event]:
    yield from _marks()
    for number in range(many):
        yield _kernel("gemm", _at(number, many) + 1, 100.0, correlation=number + 1, device=number)


def _driven_devices(many: int) -> Iterator[Event]:
    yield from _marks()
    for number in range(many):
        at = _at(number, many)
        yield _launch(at, number + 1)
        yield _kernel("gemm", at + 1, 100.0, correlation=number + 1, device=number)


def _streams(many: int) -> Iterator[Event]:
    yield from _marks()
    for number in range(many):
        at = _at(number, many)
        yield _launch(at, number + 1)
        yield _kernel("gemm", at + 1, 100.0, correlation=number + 1, stream=number)


def _threads(many: int) -> Iterator[Event]:
    yield from _marks()
    for number in range(many):
        yield _complete("cpu_op", "aten::mm", _at(number, many), 100.0, tid=number + 10_000)


def _processes(many: int) -> Iterator[Event]:
    yield from _marks()
    for number in range(many):
        yield _complete("cpu_op", "aten::mm", _at(number, many), 100.0) | {"pid": number + 10_000}


def _op_names(many: int) -> Iterator[Event]:
    yield from _marks()
    for number in range(many):
        yield _complete("cpu_op", f"mine::op_{number}", _at(number, many), _STEPS * _STEP_US / many / 2)


def _kernel_names(many: int) -> Iterator[Event]:
    yield from _marks()
    for number in range(many):
        at = _at(number, many)
        yield _launch(at, number + 1)
        name = f"void mine::kernel_{number}<float, {number}>(int, float*)"
        yield _kernel(name, at + 1, _STEPS * _STEP_US / many / 2, correlation=number + 1)


def _range_names(many: int) -> Iterator[Event]:
    yield from _marks()
    for number in range(many):
        yield _complete("user_annotation", f"range {number}", _at(number, many), _STEPS * _STEP_US / many / 2)


def _shapes(many: int) -> Iterator[Event]:
    yield from _marks()
    for number in range(many):
        args = {"Input Dims": [[number + 1, 8], [8, 4]], "Input type": ["float", "float"], "External id": number + 1}
        yield _complete("cpu_op", "aten::mm", _at(number, many), _STEPS * _STEP_US / many / 2, args=args)


def _nested_ops(many: int) -> Iterator[Event]:
    yield from _marks()
    for number in range(many):
        yield _complete("cpu_op", "aten::mm", 100.0 + number, 2.0 * (many - number))


def _nested_ranges(many: int) -> Iterator[Event]:
    yield from _marks()
    for number in range(many):
        yield _complete("user_annotation", f"r{number % 7}", 100.0 + number, 2.0 * (many - number))


def _frames(many: int) -> Iterator[Event]:
    """Calls of Python, each inside the one before."""
    yield from _marks()
    for number in range(many):
        args = {"Python id": number + 1, "Python parent id": number or None}
        yield _complete("python_function", f"mine.py({number}): f", 100.0 + number, 2.0 * (many - number), args=args)
    yield _complete("cpu_op", "aten::mm", 100.0 + many, 1.0)


def _modules(many: int) -> Iterator[Event]:
    yield from _marks()
    for number in range(many):
        args = {"Python id": number + 1, "Python parent id": None, "Python module id": number}
        dur = _STEPS * _STEP_US / many / 2
        yield _complete("python_function", f"nn.Module: Block{number}_{number}", _at(number, many), dur, args=args)
        yield _complete("cpu_op", "aten::mm", _at(number, many) + dur / 4, dur / 4)


def _collectives(many: int) -> Iterator[Event]:
    """Each in a process group of its own."""
    yield from _marks()
    for number in range(many):
        at, args = (
            _at(number, many),
            {"Process Group Name": str(number), "Collective name": "allreduce", "In msg nelems": 4},
        )
        yield _launch(at, number + 1)
        dur = _STEPS * _STEP_US / many / 2
        name = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
        yield _kernel(name, at + 1, dur, correlation=number + 1, **args)


def _same_correlation(many: int) -> Iterator[Event]:
    """Every call and every kernel says that it belongs to the same."""
    yield from _marks()
    for number in range(many):
        at = _at(number, many)
        yield _launch(at, 5)
        yield _kernel("gemm", at + 1, _STEPS * _STEP_US / many / 2, correlation=5)


def _same_external_id(many: int) -> Iterator[Event]:
    yield from _marks()
    for number in range(many):
        at = _at(number, many)
        yield _complete("cpu_op", "aten::mm", at, 3.0, args={"External id": 5})
        yield _complete("cuda_runtime", "cudaLaunchKernel", at + 1, 0.5, args={"correlation": number, "External id": 5})
        kernel = _kernel("gemm", at + 2, _STEPS * _STEP_US / many / 2, correlation=number)
        kernel["args"]["External id"] = 5
        yield kernel


def _one_graph(many: int) -> Iterator[Event]:
    """All kernels of one launched graph."""
    yield from _marks()
    yield _complete("cuda_runtime", "cudaGraphLaunch", 10.0, 5.0, args={"correlation": 5})
    for number in range(many):
        dur = _STEPS * _STEP_US / many / 2
        yield _kernel("gemm", _at(number, many) + 20, dur, correlation=5, **{"graph node id": number})


def _waits(many: int) -> Iterator[Event]:
    """Synchronising behind every kernel."""
    yield from _marks()
    for number in range(many):
        at, dur = _at(number, many), _STEPS * _STEP_US / many
        yield _launch(at, 2 * number + 1)
        yield _kernel("gemm", at + dur / 10, dur / 2, correlation=2 * number + 1)
        args = {"correlation": 2 * number + 2}
        yield _complete("cuda_runtime", "cudaStreamSynchronize", at + dur / 8, dur / 2, args=args)


def _reads(many: int) -> Iterator[Event]:
    """A value read behind every kernel, as a loop over elements does."""
    yield from _marks()
    for number in range(many):
        at, dur = _at(number, many), _STEPS * _STEP_US / many
        yield _complete("cpu_op", "aten::item", at, dur * 0.9)
        yield _complete("cpu_op", "aten::_local_scalar_dense", at + dur / 20, dur * 0.8)
        args = {"correlation": number + 1}
        yield _complete("cuda_runtime", "cudaMemcpyAsync", at + dur / 10, dur * 0.6, args=args)
        copy = {"device": 0, "stream": 7, "correlation": number + 1, "bytes": 4}
        name = "Memcpy DtoH (Device -> Pageable)"
        yield _complete("gpu_memcpy", name, at + dur / 8, dur * 0.1, tid=7, args=copy) | {"pid": 0}


def _batches(many: int) -> Iterator[Event]:
    """A call of the loader for every op."""
    yield from _marks()
    for number in range(many):
        at, dur = _at(number, many), _STEPS * _STEP_US / many
        name = "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__"
        yield _complete("user_annotation", name, at, dur / 2)
        yield _complete("cpu_op", "aten::mm", at + dur / 2, dur / 2)


def _memory(many: int) -> Iterator[Event]:
    yield from _marks()
    for number in range(many):
        args = {
            "Device Type": 1, "Device Id": 0, "Addr": number, "Bytes": 512 if number % 2 else -512,
            "Total Allocated": number, "Total Reserved": many,
        }  # fmt: skip
        yield _complete("cpu_instant_event", "[memory]", _at(number, many), 0, args=args) | {"ph": "i", "s": "t"}


def _same_moment(many: int) -> Iterator[Event]:
    yield from _marks()
    for _ in range(many):
        yield _complete("cpu_op", "aten::mm", 1_000.0, 100.0)


def _arguments(many: int) -> Iterator[Event]:
    """An argument of its own for each event."""
    yield from _marks()
    for number in range(many):
        yield _complete("cpu_op", "aten::mm", _at(number, many), 10.0, args={f"mine {number}": number})


def _categories(many: int) -> Iterator[Event]:
    yield from _marks()
    for number in range(many):
        yield _complete(f"mine_{number}", "thing", _at(number, many), 10.0)


def _optimizers(many: int) -> Iterator[Event]:
    yield from _marks()
    for number in range(many):
        dur = _STEPS * _STEP_US / many / 2
        yield _complete("user_annotation", f"Optimizer.step#Mine{number}.step", _at(number, many), dur)
        yield _complete("cpu_op", "aten::add_", _at(number, many), dur / 2)


def _unmarked(many: int) -> Iterator[Event]:
    """Ranges that repeat, and no steps."""
    for number in range(many):
        yield _complete("user_annotation", "train", number * 100.0, 90.0)
        yield _complete("cpu_op", "aten::mm", number * 100.0 + 10, 50.0)


def _unmarked_kernels(many: int) -> Iterator[Event]:
    for number in range(many):
        yield _kernel(("gemm", "relu", "norm", "add")[number % 4], number * 10.0, 8.0, correlation=number + 1)


KINDS: dict[str, Callable[[int], Iterator[Event]]] = {
    name.removeprefix("_").replace("_", " "): kind
    for name, kind in list(globals().items())
    if name.startswith("_") and getattr(kind, "__annotations__", {}) == {"many": "int", "return": "Iterator[Event]"}
}


def write(path: Path, kind: str, many: int) -> Path:
    """The trace of a kind at a path."""
    path.write_text(json.dumps({"schemaVersion": 1, "traceEvents": list(KINDS[kind](many))}), encoding="utf-8")
    return path
