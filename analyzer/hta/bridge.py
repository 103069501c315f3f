"""Our frames as HolisticTraceAnalysis sees a trace: its analyses without a second parse.

HTA (the extra `hta`) brings Plotly and JupyterLab and takes over a second to import, so it is imported when one of these functions
is called and never before. Times are handed over in nanoseconds: HTA's arithmetic does not care, and the results come back in our
unit without the rounding to microseconds its own parser does.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt
import pandas as pd

from traces.errors import UsageError
from traces.trace import Trace

# Launches a CUDA stream queues before the launching thread is blocked (HTA, CUDA_MAX_LAUNCH_QUEUE_PER_STREAM).
QUEUE_LIMIT = 1024
# HTA's word for "no value" in its integer columns.
_NONE = -1
# HTA takes a process or a thread of number 0 for a device's, and loses threads 1 and 2: their roots are -1 and -2, its other words
# for "none".
_FIRST_THREAD = 3
RANK = 0


def missing() -> str | None:
    """Why HTA cannot be used here, or None."""
    return (
        None
        if find_spec("hta") is not None
        else "HolisticTraceAnalysis is not installed: pip install HolisticTraceAnalysis"
    )


def overlap_ratio(trace: Trace) -> float | None:
    """`TraceAnalysis.get_comm_comp_overlap`: share of the collectives' time with compute beside it; None without collectives."""
    if not trace.kernels["collective"].any():
        return None
    with quiet():
        from hta.analyzers.communication_analysis import CommunicationAnalysis

        found = CommunicationAnalysis.get_comm_comp_overlap(as_hta(trace), visualize=False)
    percent = float(found["comp_comm_overlap_pctg"].iloc[0])
    return percent / 100 if np.isfinite(percent) else None


class QueueLength(msgspec.Struct, frozen=True):
    """How many launched pieces of work wait on a stream.

    Args:
        stream: Stream number.
        mean: Mean over the changes of the queue.
        median: Median over them.
        longest: Longest queue.
        blocked_ns: Time the queue was full, in which the launching thread waits.
    """

    stream: int
    mean: float
    median: float
    longest: int
    blocked_ns: int


def queue_lengths(trace: Trace) -> tuple[QueueLength, ...]:
    """`TraceAnalysis.get_queue_length_summary` and `get_time_spent_blocked_on_full_queue`, the busiest stream first."""
    with quiet():
        from hta.analyzers.trace_counters import TraceCounters

        handed = as_hta(trace)
        try:
            series = TraceCounters.get_queue_length_time_series(handed, [RANK])
        except AssertionError:
            # HTA asserts that every launch has one piece of work; graph launches have many.
            return ()
        if not series:
            return ()
        summary = TraceCounters.get_queue_length_summary_from_time_series(series)
        blocked = TraceCounters.get_time_spent_blocked_on_full_queue(handed, series, QUEUE_LIMIT)
    full = {} if blocked is None else dict(zip(blocked["stream"], blocked["duration_at_max_queue_length"], strict=True))
    rows = [
        QueueLength(
            stream=int(stream),
            mean=float(row[("queue_length", "mean")]),
            median=float(row[("queue_length", "50%")]),
            longest=int(row[("queue_length", "max")]),
            blocked_ns=int(full.get(stream, 0)),
        )
        for (_, stream), row in zip(summary.index, summary.to_dict("records"), strict=True)
    ]
    return tuple(sorted(rows, key=lambda item: (-item.longest, item.stream)))


class LaunchStatistics(msgspec.Struct, frozen=True):
    """`TraceAnalysis.get_cuda_kernel_launch_stats` in a line: medians over all launches, and how many are out of proportion.

    Args:
        launches: Launches with their work.
        host_ns: Median duration of the call.
        device_ns: Median duration of the work.
        delay_ns: Median time from the end of the call to the start of the work, negative ones counted as 0.
        longer_on_host: Launches whose call takes longer than their work.
    """

    launches: int
    host_ns: int
    device_ns: int
    delay_ns: int
    longer_on_host: int


def launch_statistics(trace: Trace) -> LaunchStatistics | None:
    """Launch statistics; None where no launch has its work in the trace (HTA knows CUDA's and MTIA's calls, not HIP's)."""
    with quiet():
        from hta.analyzers.cuda_kernel_analysis import CudaKernelAnalysis

        found = CudaKernelAnalysis.cuda_kernel_launch_stats(as_hta(trace), [RANK], visualize=False)[RANK]
    if not len(found):
        return None
    return LaunchStatistics(
        launches=len(found),
        host_ns=int(found["cpu_duration"].median()),
        device_ns=int(found["gpu_duration"].median()),
        delay_ns=int(found["launch_delay"].median()),
        longer_on_host=int((found["cpu_duration"] > found["gpu_duration"]).sum()),
    )


def as_hta(trace: Trace) -> Any:
    """The trace as an `hta.common.trace.Trace` of one rank, made without reading a file.

    Raises:
        UsageError: HTA is not installed.
    """
    reason = missing()
    if reason is not None:
        raise UsageError(reason)
    with quiet():
        from hta.common.trace import Trace as HtaTrace
        from hta.common.trace_symbol_table import TraceSymbolTable

        symbols = TraceSymbolTable()
        frame = _events(trace)
        symbols.add_symbols([*frame["cat"].unique(), *frame["name"].unique()])
        index = symbols.get_sym_id_map()
        frame["cat"] = frame["cat"].map(index).astype(np.int64)
        frame["name"] = frame["name"].map(index).astype(np.int64)
        frame["index_correlation"] = _partners(frame)
        frame["iteration"] = _iterations(frame, trace.steps)
        handed = HtaTrace(trace_files={}, trace_dir=".")
        handed.traces = {RANK: frame}
        handed.symbol_table = symbols
        handed.meta_data = {RANK: {}}
        handed.is_parsed = True
    return handed


# Our frames and the categories HTA knows their events by.
_HOST_FRAMES = (
    ("steps", "user_annotation"),
    ("annotations", "user_annotation"),
    ("ops", "cpu_op"),
    ("runtime", "cuda_runtime"),
)
_DEVICE_FRAMES = (("kernels", "kernel"), ("copies", "gpu_memcpy"))


def _events(trace: Trace) -> pd.DataFrame:
    """All events in HTA's columns, times in ns, sorted by start; rows are numbered from 1, for HTA takes 0 for "none"."""
    parts = [_host_events(trace, name, category) for name, category in _HOST_FRAMES]
    parts += [_device_events(trace, name, category) for name, category in _DEVICE_FRAMES]
    frame = pd.concat([part for part in parts if len(part)], ignore_index=True)
    frame = frame.sort_values("ts", kind="stable", ignore_index=True)
    frame.index = pd.RangeIndex(1, len(frame) + 1)
    frame["index"] = frame.index
    frame["end"] = frame["ts"] + frame["dur"]
    return frame


def _host_events(trace: Trace, name: str, category: str) -> pd.DataFrame:
    source: pd.DataFrame = getattr(trace, name)
    if name == "steps":
        names = np.array([f"ProfilerStep#{number}" for number in source["number"].to_numpy().tolist()], dtype=object)
    else:
        names = source["name"].astype("str").to_numpy()
    return _shared(source, names, category).assign(
        pid=source["process"].to_numpy() + _FIRST_THREAD,
        tid=source["thread"].to_numpy() + _FIRST_THREAD,
        stream=_NONE,
        correlation=_numbers(source, "correlation"),
    )


def _device_events(trace: Trace, name: str, category: str) -> pd.DataFrame:
    source: pd.DataFrame = getattr(trace, name)
    return _shared(source, source["name"].astype("str").to_numpy(), category).assign(
        pid=source["device"].to_numpy(),
        tid=source["stream"].to_numpy(),
        stream=source["stream"].to_numpy(),
        correlation=_numbers(source, "correlation"),
    )


def _shared(source: pd.DataFrame, names: npt.NDArray[Any], category: str) -> pd.DataFrame:
    return pd.DataFrame(
        {"cat": category, "name": names, "ts": source["start_ns"].to_numpy(), "dur": source["dur_ns"].to_numpy()}
    )


def _numbers(source: pd.DataFrame, column: str) -> npt.NDArray[np.int64]:
    if column not in source:
        return np.full(len(source), _NONE, dtype=np.int64)
    return source[column].fillna(_NONE).to_numpy(dtype=np.int64)


def _partners(frame: pd.DataFrame) -> npt.NDArray[np.int64]:
    """For each event the row of its call or of its (first) work by correlation, -1 without one."""
    on_host = frame[(frame["stream"] == _NONE) & (frame["correlation"] > 0)].drop_duplicates("correlation")
    on_device = frame[(frame["stream"] != _NONE) & (frame["correlation"] > 0)].drop_duplicates("correlation")
    calls = pd.Series(on_host["index"].to_numpy(), index=on_host["correlation"].to_numpy())
    work = pd.Series(on_device["index"].to_numpy(), index=on_device["correlation"].to_numpy())
    is_call = (frame["stream"] == _NONE).to_numpy()
    partner = np.where(
        is_call, work.reindex(frame["correlation"]).to_numpy(), calls.reindex(frame["correlation"]).to_numpy()
    )
    return np.nan_to_num(partner, nan=_NONE).astype(np.int64)


def _iterations(frame: pd.DataFrame, steps: pd.DataFrame) -> npt.NDArray[np.int64]:
    """For each event the step it begins in, for a kernel the one of its call; -1 outside of all.

    As HTA's `add_iteration`, which asks each event about each step: minutes where there are a million of one and hundreds of
    the other.
    """
    begins, stream = frame["ts"].to_numpy(), frame["stream"].to_numpy()
    found = np.full(len(frame), _NONE, dtype=np.int64)
    steps = steps.sort_values("start_ns", kind="stable")
    for number, start, end in steps[["number", "start_ns", "end_ns"]].itertuples(index=False):
        found[np.searchsorted(begins, start) : np.searchsorted(begins, end)] = number
    # Rows are numbered from 1.
    partner = frame["index_correlation"].to_numpy()
    of_call = np.where(partner > 0, found[partner - 1], _NONE)
    return np.where(stream < 0, found, np.where(stream > 0, of_call, _NONE))


@contextmanager
def quiet() -> Iterator[None]:
    """HTA logs to the terminal and trips over pandas' deprecations; neither is for the reader of our report."""
    logger = logging.getLogger("hta")
    before = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(before)
