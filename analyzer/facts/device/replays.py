"""Graph launches against their kernels: replays of which only a part was recorded.

A replay is held against others of the same graph, told by the first or the last kernel. Loss is random, so a number of
kernels that occurs again and again is a graph of its own, not a loss.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import numpy.typing as npt
import pandas as pd

from analyzer.facts.device.launches import from_source
from analyzer.spans.arrays import Int64Array
from analyzer.spans.columns import present
from analyzer.spans.grouping import rows_by
from analyzer.spans.labels import codes_of, distinct_texts, is_any
from analyzer.spans.open_spans import NONE
from traces.fixed_frame import FixedFrame
from traces.trace import Trace

# Fewer replays say nothing about how many kernels a graph has.
MIN_REPLAYS = 3
# A replay with fewer kernels than this share of the others' was recorded in part.
PARTIAL_RATIO = 0.5
_COLUMNS = {"start_ns": np.int64, "kernels": np.int64, "expected": np.float64, "partial": np.bool_}


def graph_replays(trace: Trace, launched: pd.DataFrame) -> pd.DataFrame:
    """Every graph launch with an id.

    Args:
        trace: The trace.
        launched: From `launches.launches`.

    Returns:
        Columns start_ns, kernels (how much work was recorded), expected (the median of the graph's replays; 0 where unknown) and
        partial (whether most of it is missing).
    """
    launching = is_any(trace.runtime["kind"], "graph_launch")
    if not launching.any():
        return _none()
    rows = np.flatnonzero(launching & present(trace.runtime["correlation"]))
    kernels, ends = _recorded(trace, launched, rows)
    expected = _expected(kernels, ends)
    _, same, times = np.unique(kernels, return_inverse=True, return_counts=True)
    usual = times[same] >= MIN_REPLAYS
    partial = (kernels < PARTIAL_RATIO * expected) & (~usual | (kernels == 0))
    found = (trace.runtime["start_ns"].to_numpy()[rows], kernels, expected, partial)
    return pd.DataFrame(dict(zip(_COLUMNS, found, strict=True)))


@cache
def _none() -> FixedFrame:
    return FixedFrame({name: np.empty(0, kind) for name, kind in _COLUMNS.items()})


def _recorded(
    trace: Trace, launched: pd.DataFrame, rows: Int64Array
) -> tuple[Int64Array, tuple[Int64Array, Int64Array]]:
    """How much work of each of these calls was recorded, and with the kernels of which name it begins and ends.

    Returns:
        Pieces of work, and two numbers of names, -1 where there is no work; shape (rows,) all of them.
    """
    replay = np.full(len(trace.runtime), NONE)
    replay[rows] = np.arange(len(rows))
    replay = replay[launched["launch_row"].to_numpy()]
    work = np.flatnonzero(replay != NONE)
    replay = replay[work]
    # What is no kernel is alike.
    other = len(distinct_texts(trace.kernels["name"]))
    name = np.full(len(work), other)
    from_kernels = from_source(launched, "kernels")[work]
    name[from_kernels] = codes_of(trace.kernels["name"])[launched["row"].to_numpy()[work[from_kernels]]]
    first, last = np.full(len(rows), NONE), np.full(len(rows), NONE)
    first[replay[::-1]] = name[::-1]
    last[replay] = name
    return np.bincount(replay, minlength=len(rows)), (first, last)


def _expected(kernels: Int64Array, ends: tuple[Int64Array, Int64Array]) -> npt.NDArray[np.float64]:
    """How many kernels each replay should have: as many as most of those that begin or end alike."""
    recorded = kernels > 0
    expected = np.zeros(len(kernels))
    for end in ends:
        for rows in rows_by(np.where(recorded, end, NONE)).values():
            if len(rows) >= MIN_REPLAYS:
                expected[rows] = np.maximum(expected[rows], np.median(kernels[rows]))
    # A replay without any kernel may be of any graph: it lacks at least those of the smallest.
    expected[~recorded] = kernels[recorded].min() if recorded.any() else 1.0
    return expected
