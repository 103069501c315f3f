"""How long a host's thread is in the sending of a message: gloo's range lasts until the message is waited for, much later often.

A pipeline sends what it has computed and goes on at once; that it asks at the end of its step whether the message is through says
nothing of when it was. What the thread does next ends its part in it.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from analyzer.spans.arrays import Int64Array
from analyzer.spans.grouping import rows_by
from analyzer.spans.labels import matching
from traces.patterns import Pattern
from traces.trace import Trace

_SEND = Pattern(r"\w+:+i?send$")


def until_going_on(trace: Trace, ranges: pd.DataFrame) -> Int64Array:
    """How long each range lasts, one that sends until its thread begins something else; shape (ranges,).

    Args:
        trace: The trace.
        ranges: Ranges of collectives with name, thread, start_ns and dur_ns.
    """
    dur: Int64Array = ranges["dur_ns"].to_numpy(np.int64).copy()
    sends = matching(ranges["name"], _SEND.match)
    if not sends.any():
        return dur
    begun = [frame[["thread", "start_ns"]].to_numpy(np.int64) for frame in (trace.ops, trace.collectives)]
    threads, starts = np.concatenate(begun).T
    begins = {thread: np.sort(starts[rows]) for thread, rows in rows_by(threads).items()}
    thread, start = (ranges[name].to_numpy(np.int64) for name in ("thread", "start_ns"))
    for one in np.flatnonzero(sends).tolist():
        mine = begins[int(thread[one])]
        behind = int(np.searchsorted(mine, start[one], side="right"))
        if behind < len(mine):
            dur[one] = min(dur[one], mine[behind] - start[one])
    return dur
