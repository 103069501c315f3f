"""Worlds whose verdict is known: each mechanism that a wrong verdict once came from, with the property and without.

`python tests/confusion.py` prints what is said of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from analyzer.analysis import BoundBy
from analyzer.explain import explain_facts
from analyzer.facts import Facts
from building.builders import TraceBuilder
from rules import RULES


@dataclass(frozen=True)
class Known:
    """A world and what binds it.

    Args:
        name: What the world has, or lacks.
        make: Builds it.
        bound_by: What is true of it.
    """

    name: str
    make: Callable[[], TraceBuilder]
    bound_by: BoundBy

    def said(self) -> BoundBy:
        """What the tool says."""
        return explain_facts(Facts(self.make().trace()), rules=RULES).analysis.summary.verdict.bound_by


_STEP = 10_000.0


def _steps(builder: TraceBuilder, make: Callable[[TraceBuilder, float], object]) -> TraceBuilder:
    for number in range(5):
        builder.step(number, number * _STEP, _STEP)
        make(builder, number * _STEP)
    return builder


def _ops(builder: TraceBuilder, at: float, *, lead: float, each: float = 200, dur: float = 40) -> None:
    """Ops that launch a kernel each, one after the other through the step."""
    for index in range(int(_STEP / each)):
        start = at + index * each
        builder.op("aten::mm", start, each - 10)
        builder.launch(start + each - 60, kernel_start=start + each - 55 + lead, kernel_dur=dur, name="gemm", op=None)


def _waits(builder: TraceBuilder, at: float) -> None:
    """Launched at once, the second kernel starts 6 ms after the first: the trace does not show why."""
    builder.launch(at, kernel_start=at + 8, kernel_dur=1_000, name="gemm")
    builder.launch(at + 30, kernel_start=at + 7_000, kernel_dur=2_500, name="gemm")


def _graph(builder: TraceBuilder, at: float) -> None:
    """One graph, its nodes 45 us apart."""
    call = builder.runtime("cudaGraphLaunch", at, 5)
    for index in range(100):
        builder.kernel("gemm", at + 10 + index * 95, 50, correlation=call)


def _long_op(builder: TraceBuilder, at: float) -> None:
    """One op works on the host for most of the step, behind it a queue of kernels that starts late: few launches."""
    builder.op("aten::unique_dim", at, 7_000)
    for index in range(4):
        builder.launch(at + 7_010 + index * 20, kernel_start=at + 7_300 + index * 600, kernel_dur=600, name="gemm")


def _after_a_wait(builder: TraceBuilder, at: float, *, computes: bool) -> None:
    """The host reads a value after 4 ms of work; before the next kernel it computes for 5 ms itself, or comes to launch it."""
    builder.launch(at + 10, kernel_start=at + 20, kernel_dur=4_000, name="gemm")
    builder.op("aten::item", at + 30, 4_020)
    builder.copy("DtoH", at + 40, 10, start=at + 4_022, dur=2, size=4, op=None)
    builder.runtime("cudaStreamSynchronize", at + 52, 3_980)
    if computes:
        builder.op("aten::stft", at + 4_100, 5_000)
    else:
        for index in range(50):
            builder.op("aten::linear", at + 4_100 + index * 100, 98)
            builder.runtime("cudaOccupancyMaxActiveBlocksPerMultiprocessor", at + 4_110 + index * 100, 2)
    for index in range(8):
        start = at + 9_150 + index * 20
        builder.launch(start, kernel_start=at + 9_200 + index * 90, kernel_dur=90, name="gemm", op=None)


def _layers(*, idle: bool) -> TraceBuilder:
    """No step marks; equal layers of kernels, in a window that is nearly idle, or filled."""
    builder = TraceBuilder()
    builder.op("aten::embedding", 0, 50)
    for layer in range(40):
        at = 100 + layer * (100 if idle else 2_000)
        for index in range(4):
            dur = 12 if idle else 480
            builder.launch(at + index * 20, kernel_start=at + index * (dur + 8) + 8, kernel_dur=dur, name=f"k{index}")
    builder.op("aten::to", 79_000, 900)
    return builder


def _collectives(share: float) -> Callable[[TraceBuilder, float], object]:
    def make(builder: TraceBuilder, at: float) -> None:
        compute = _STEP * (1 - share)
        builder.launch(at, kernel_start=at + 8, kernel_dur=compute - 8, name="gemm")
        builder.launch(
            at + 30,
            kernel_start=at + compute,
            kernel_dur=_STEP * share - 5,
            name="ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
            stream=20,
        )

    return make


def _exchanges(builder: TraceBuilder, at: float, *, name: str) -> None:
    """Compute for 4 ms, then a kernel of 5.5 ms on a stream of its own, which no range on the host names."""
    builder.launch(at, kernel_start=at + 8, kernel_dur=3_990, name="gemm")
    builder.launch(at + 30, kernel_start=at + 4_000, kernel_dur=5_500, name=name, stream=20, op=None)


def _allocates(builder: TraceBuilder, at: float, *, steps: frozenset[int]) -> None:
    """Compute for 4 ms; in some steps 100 allocations and as many frees take 5.5 ms before it."""
    builder.op("aten::empty", at, 6_000)
    for index in range(100 if int(at / _STEP) in steps else 0):
        builder.runtime("cudaMalloc", at + 55 * index, 30)
        builder.runtime("cudaFree", at + 55 * index + 31, 20)
    builder.launch(at + 5_600, kernel_start=at + 5_610, kernel_dur=4_300, name="gemm", op=None)


def _queue_waits(builder: TraceBuilder, at: float, *, name: str) -> None:
    """A queue of the device stands for 8 ms in a command, and works for 1.5 ms."""
    builder.launch(at, kernel_start=at + 8, kernel_dur=7_990, name=name)
    builder.launch(at + 30, kernel_start=at + 8_000, kernel_dur=1_500, name="gemm")


def _marked(make: Callable[[TraceBuilder, float], object], device: str | None = "cuda") -> Callable[[], TraceBuilder]:
    return lambda: _steps(TraceBuilder(device), make)


VERDICTS = (
    Known("each kernel waits for its launch", _marked(lambda builder, at: _ops(builder, at, lead=2)), "launch"),
    Known("the queue is filled", _marked(lambda builder, at: _ops(builder, at, lead=200, dur=195)), "compute"),
    Known("launched work waits, unseen for what", _marked(_waits), "unknown"),
    Known(
        "a queue's own wait is no work",
        _marked(lambda builder, at: _queue_waits(builder, at, name="event_wait")),
        "unknown",
    ),
    Known(
        "a kernel as long is work",
        _marked(lambda builder, at: _queue_waits(builder, at, name="wait_free_gemm")),
        "compute",
    ),
    Known("gaps between the nodes of a graph", _marked(_graph), "queue"),
    Known("one op works on the host, launches are few", _marked(_long_op), "launch"),
    Known(
        "after a wait the host computes",
        _marked(lambda builder, at: _after_a_wait(builder, at, computes=True)),
        "launch",
    ),
    Known(
        "after a wait the host issues again",
        _marked(lambda builder, at: _after_a_wait(builder, at, computes=False)),
        "sync",
    ),
    Known("equal layers in a nearly idle window", lambda: _layers(idle=True), "python"),
    Known("equal layers fill the window", lambda: _layers(idle=False), "compute"),
    Known(
        "a collective that only its kernel's name tells",
        _marked(lambda builder, at: _exchanges(builder, at, name="on_device_all_to_all_v_kernel")),
        "communication",
    ),
    Known(
        "a reduction inside blocks on another stream is compute",
        _marked(lambda builder, at: _exchanges(builder, at, name="block_all_reduce_sum_f32_kernel")),
        "compute",
    ),
    Known(
        "every step allocates and frees",
        _marked(lambda builder, at: _allocates(builder, at, steps=frozenset(range(5)))),
        "allocator",
    ),
    Known("collectives take a tenth", _marked(_collectives(0.1)), "compute"),
    Known("collectives near the border", _marked(_collectives(0.29)), "mixed"),
    Known("collectives take half", _marked(_collectives(0.5)), "communication"),
)
