"""Graphs that are captured: what is launched meanwhile runs nothing; and those captured for one replay, which is a habit."""

from __future__ import annotations

import numpy as np
import pandas as pd

from analyzer.spans.arrays import BoolArray, Int64Array
from analyzer.spans.intervals import EMPTY, IntervalSet
from analyzer.spans.labels import is_any, matching
from traces.patterns import Pattern
from traces.trace import Trace

_BEGINS = Pattern(r"(?:cuda|hip)StreamBeginCapture|cuStreamBeginCapture")
_CAPTURED = Pattern(r"(?:cuda|hip|cu)StreamEndCapture")
_ENDS = Pattern(r"(?:cuda|hip|cu)GraphInstantiate")
_CAPTURES = Pattern(r"(?:cuda|hip|cu)(?:Stream(?:Begin|End)Capture|Graph(?:Instantiate|Destroy|ExecDestroy|GetNodes))")
# Fewer are a model's regions or sizes, each captured once.
_MIN_CAPTURES = 4
# Warming up, each graph is captured and replayed once or not at all; in use, one is replayed again and again.
_REPLAYS = 2.0
# As many equal parts of the time between the first and the last replay: what more than half of them hold goes on all through it.
_PARTS = 10


def capturing_calls(trace: Trace) -> BoolArray:
    """Which runtime calls capture, make or destroy graphs that are hardly replayed, shape (calls,); none where graphs pay.

    Graphs do not pay where replays come between the captures, at most two to each, all through the recording.
    """
    calls = trace.runtime
    start = calls["start_ns"].to_numpy()
    at = np.sort(start[matching(calls["name"], _ENDS.match)])
    if len(at) < _MIN_CAPTURES:
        return np.zeros(len(calls), dtype=bool)
    replayed = np.sort(start[is_any(calls["kind"], "graph_launch")])
    if not len(at) <= len(replayed) + 1 <= _REPLAYS * len(at) + 1:
        return np.zeros(len(calls), dtype=bool)
    between = np.diff(np.searchsorted(replayed, at)) > 0
    part = np.clip(((at - at[0]) * _PARTS) // max(int(replayed[-1] - at[0]), 1), 0, _PARTS - 1)
    throughout = len(np.unique(part)) > min(len(at), _PARTS) / 2
    pays = not throughout or between.mean() <= 0.5
    return np.zeros(len(calls), dtype=bool) if pays else matching(calls["name"], _CAPTURES.match)


def captured_launches(trace: Trace) -> BoolArray:
    """Which runtime calls a stream's capture takes in instead of running what they launch, shape (calls,)."""
    calls = trace.runtime
    begins, ends = (matching(calls["name"], one.match) for one in (_BEGINS, _CAPTURED))
    found = np.zeros(len(calls), dtype=bool)
    if not begins.any():
        return found
    thread, start = calls["thread"].to_numpy(), calls["start_ns"].to_numpy()
    for one in np.unique(thread[begins]).tolist():
        here = thread == one
        found |= here & _from_to(calls, begins & here, ends & here).contains(start)
    return found & is_any(calls["kind"], "launch", "memcpy", "memset")


def made_anew(trace: Trace) -> Int64Array:
    """When a graph is made that is hardly replayed, shape (graphs,)."""
    calls = trace.runtime
    found: Int64Array = calls["start_ns"].to_numpy()[capturing_calls(trace) & matching(calls["name"], _ENDS.match)]
    return found


def capturing(trace: Trace) -> dict[int, IntervalSet]:
    """When each thread captures, makes and destroys graphs that are hardly replayed."""
    mine = capturing_calls(trace)
    if not mine.any():
        return {}
    calls = trace.runtime
    begins, ends = (matching(calls["name"], one.match) for one in (_BEGINS, _ENDS))
    thread = calls["thread"].to_numpy()
    result: dict[int, IntervalSet] = {}
    for one in np.unique(thread[mine]).tolist():
        here = thread == one
        result[one] = IntervalSet.of_rows(calls, mine & here) | _from_to(calls, begins & here, ends & here)
    return result


def _from_to(calls: pd.DataFrame, begins: BoolArray, ends: BoolArray) -> IntervalSet:
    """From the beginning of each capture until its graph is made."""
    start = np.sort(calls["start_ns"].to_numpy()[begins])
    end: Int64Array = np.sort(calls["end_ns"].to_numpy()[ends])
    index = np.searchsorted(end, start)
    known = index < len(end)
    return IntervalSet(start[known], end[index[known]]) if known.any() else EMPTY
