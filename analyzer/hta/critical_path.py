"""What the critical path of one step is made of, as HolisticTraceAnalysis finds it in our frames.

HTA 0.5.0 asks for columns that only traces with synchronisation events have; the frame we hand over has them, empty.
"""

from __future__ import annotations

from analyzer.hta.bridge import RANK, as_hta, quiet
from analyzer.hta.frame import HtaFrame
from traces.trace import Capability, Trace

# Columns of `cuda_sync` events: which recorded event a stream waits for. -1 is HTA's word for "none".
_OF_SYNCS = ("wait_on_stream", "wait_on_cuda_event_record_corr_id", "wait_on_cuda_event_id")
# What HTA raises where a trace is not what it expects: a launch without its kernel, a graph launch with many, a step without ops.
_NOT_FOR_HTA = (AssertionError, KeyError, IndexError, ValueError, AttributeError)


def unavailable(trace: Trace) -> str | None:
    """Why no critical path can be found in this trace, or None."""
    if not len(trace.steps):
        return "it needs step marks"
    if Capability.LAUNCHES not in trace.capabilities or trace.meta.device_kind != "cuda":
        return "HolisticTraceAnalysis follows launches of CUDA only"
    return None


def critical_path(trace: Trace) -> dict[str, int] | None:
    """Nanoseconds on the critical path of the middle step, by HTA's word for what each part is bound by, the largest first.

    The path goes through launches, ops and kernels. Waits of one stream for another are not among what we hand over, and host time
    outside any event has no weight, so that the sum is at most the step.

    Returns:
        None where HTA cannot make a graph of this step.
    """
    with quiet():
        from hta.analyzers.critical_path_analysis import CriticalPathAnalysis

        handed = as_hta(trace)
        frame = handed.traces[RANK].assign(**dict.fromkeys(_OF_SYNCS, -1))
        handed.traces = {RANK: HtaFrame(frame)}
        try:
            graph, found = CriticalPathAnalysis.critical_path_analysis(
                handed, RANK, "ProfilerStep", len(trace.steps) // 2
            )
            parts = graph.get_critical_path_breakdown() if found else None
        except _NOT_FOR_HTA:
            return None
    if parts is None or not len(parts):
        return None
    totals = parts[parts["bound_by"] != ""].groupby("bound_by")["duration"].sum().sort_values(ascending=False)
    return {str(name): int(total) for name, total in totals.items() if total > 0}
