"""Which kernels follow from each op of a loop, as HolisticTraceAnalysis finds its frequent kernel sequences, in our frames.

HTA 0.5.0 lays what it found over the trace's own file and writes that anew. Only the search is wanted here: the step that would
write is replaced by one that hands over what was found, so that no file is read and none is written.
"""

from __future__ import annotations

import tempfile
from typing import Any

import msgspec

from analyzer.hta.bridge import RANK, as_hta, quiet
from analyzer.hta.frame import HtaFrame
from traces.trace import Capability, Trace

# HTA looks for operators by a part of their names; what we hand over holds no others than those asked for. Kernels have `::` too.
_ANY = "aten::"
# It looks at each op by itself, which takes it some 20 ms.
MOST_OPS = 100
# What HTA raises where a trace is not what it expects: a graph launch with many kernels, a call that reaches out of its op.
_NOT_FOR_HTA = (AssertionError, KeyError, IndexError, ValueError, AttributeError, TypeError)


class KernelSequence(msgspec.Struct, frozen=True):
    """One op with the kernels it launches, in order, wherever it occurs in the trace.

    Args:
        op: Name of the op.
        kernels: Names of its kernels in the order in which they run.
        count: How often the op occurs with exactly these.
        op_ns: Time of these ops on the host, all together.
        kernel_ns: Time of their kernels on the device, all together.
    """

    op: str
    kernels: tuple[str, ...]
    count: int
    op_ns: int
    kernel_ns: int


def unavailable(trace: Trace) -> str | None:
    """Why no sequences can be found in this trace, or None."""
    return None if Capability.LAUNCHES in trace.capabilities else "the trace has no launches"


def kernel_sequences(trace: Trace, ops: frozenset[str]) -> tuple[KernelSequence, ...] | None:
    """Sequences of the first `MOST_OPS` of these ops in the trace, the most frequent first.

    Args:
        trace: The trace.
        ops: Names of ops. Where they are nested in one another the outer one is asked.

    Returns:
        None where HTA finds none, or cannot read what the trace holds.
    """
    mine = trace.ops[trace.ops["name"].isin(ops)].iloc[:MOST_OPS]
    if not len(mine):
        return None
    # Without the ranges around them ops of one name are at one depth, wherever in the program they run: HTA keeps the shallowest.
    part = msgspec.structs.replace(trace, ops=mine, steps=trace.steps[:0], annotations=trace.annotations[:0])
    with quiet():
        from hta.analyzers.cuda_kernel_analysis import CudaKernelAnalysis

        class Search(CudaKernelAnalysis):  # type: ignore[misc]
            """HTA's search, which ends where it would begin to write."""

            @classmethod
            def _generate_frequent_pattern_results(cls, _trace: Any, counts: Any, durations: Any, *_rest: Any) -> Any:
                return [(pattern, count, *durations[pattern]) for pattern, count in counts.items()]

        handed = as_hta(part)
        frame = HtaFrame(handed.traces[RANK])
        # HTA follows launches to streams above 0 only; on ROCm all work is on stream 0.
        frame["stream"] += (frame["stream"] >= 0).astype(frame["stream"].dtype)
        handed.traces = {RANK: frame}
        try:
            found = Search.get_frequent_cuda_kernel_sequences(
                handed, _ANY, tempfile.gettempdir(), min_pattern_len=1, rank=RANK, visualize=False
            )
        except _NOT_FOR_HTA:
            return None
    if not isinstance(found, list):
        return None
    names = handed.symbol_table.get_sym_table()
    sequences = [
        KernelSequence(names[op], tuple(names[kernel] for kernel in kernels), count, int(op_ns), int(kernel_ns))
        for (op, *kernels), count, kernel_ns, op_ns in found
    ]
    return tuple(sorted(sequences, key=lambda one: (-one.count, one.op, one.kernels)))
