"""How long a host's thread is in a message: gloo's range lasts from the call until the message is waited for, often much longer.

A pipeline sends what it has computed and goes on at once; that it asks at the end of its step whether the message is through says
nothing of when it was. What the thread does next ends its part in it. What it will receive it asks for early, and works on
something else meanwhile: it waits from when that is done.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from analyzer.facts.host.among_ranks import begins_to_wait
from analyzer.spans.arrays import Int64Array
from analyzer.spans.grouping import rows_by
from analyzer.spans.labels import matching
from traces.patterns import Pattern
from traces.reader.names.collectives import is_collective_op
from traces.trace import Trace

_SEND = Pattern(r"\w+:+i?send$")
_RECEIVE = Pattern(r"\w+:i?recv")
_CALL = Pattern(r"c10d::")


def until_going_on(trace: Trace, ranges: pd.DataFrame) -> Int64Array:
    """How long each range lasts; one that sends, while its thread goes on to something else, as long as its call; shape (ranges,).

    Args:
        trace: The trace.
        ranges: Ranges of collectives with name, thread, start_ns and dur_ns.
    """
    dur: Int64Array = ranges["dur_ns"].to_numpy(np.int64).copy()
    sends = matching(ranges["name"], _SEND.match)
    if not sends.any():
        return dur
    begun = [frame[["thread", "start_ns"]].to_numpy(np.int64) for frame in (trace.ops, trace.collectives)]
    begins = _by_thread(*np.concatenate(begun).T)
    calls = trace.collectives[matching(trace.collectives["name"], _CALL.match)]
    called = _by_thread(*calls[["thread", "end_ns"]].to_numpy(np.int64).T)
    thread, start = (ranges[name].to_numpy(np.int64) for name in ("thread", "start_ns"))
    for one in np.flatnonzero(sends).tolist():
        on = _first_behind(begins[int(thread[one])], start[one])
        if on is not None and on - start[one] < dur[one]:
            # Between its call and what comes next the thread waits for something else, or does nothing that is recorded.
            over = _first_behind(called.get(int(thread[one]), _NONE), start[one])
            dur[one] = (on if over is None else min(on, over)) - start[one]
    return dur


def since_waiting(trace: Trace, ranges: pd.DataFrame) -> Int64Array:
    """When each range begins; one that receives, when its thread has done what it did beside it; shape (ranges,).

    Args:
        trace: The trace.
        ranges: Ranges of collectives with name, thread, start_ns and end_ns.
    """
    start: Int64Array = ranges["start_ns"].to_numpy(np.int64).copy()
    receives = np.flatnonzero(matching(ranges["name"], _RECEIVE.match))
    if not len(receives):
        return start
    works = trace.ops[~matching(trace.ops["name"], is_collective_op)]
    ends = _by_thread(*works[["thread", "end_ns"]].to_numpy(np.int64).T)
    thread, end = (ranges[name].to_numpy(np.int64) for name in ("thread", "end_ns"))
    order = receives[np.argsort(start[receives], kind="stable")]
    for number, mine in rows_by(thread[order]).items():
        rows = order[mine]
        since = begins_to_wait(start[rows], end[rows], ends.get(number, _NONE))
        # Messages are told apart by their order: none overtakes one that was asked for before it.
        start[rows] = np.minimum.accumulate(since[::-1])[::-1]
    return start


_NONE = np.zeros(0, dtype=np.int64)


def _by_thread(threads: Int64Array, at: Int64Array) -> dict[int, Int64Array]:
    return {thread: np.sort(at[rows]) for thread, rows in rows_by(threads).items()}


def _first_behind(at: Int64Array, instant: int) -> int | None:
    place = int(np.searchsorted(at, instant, side="right"))
    return int(at[place]) if place < len(at) else None
