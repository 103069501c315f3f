"""Waiting calls that go on when all recorded work is done: what they wait for is not in the trace, and no wait of the program's."""

from __future__ import annotations

import numpy as np
import pandas as pd

from analyzer.spans.grouping import chosen
from analyzer.spans.labels import is_any
from traces.trace import Trace

# In recorded traces such a call returns 15 us after the work is done; where it puts the thread to sleep (cudaEventBlockingSync)
# 300 us after, where nothing was queued as late as the driver takes to look. What goes on for longer waits for more.
_RETURNS_NS = 1_000_000


def unanswered(trace: Trace) -> pd.DataFrame:
    """The ends of calls that wait for the device, from when no recorded device is at work any more.

    Work that begins before the call returns counts as what it waits for, whoever launched it.

    Args:
        trace: The trace.

    Returns:
        Columns name, thread, start_ns and end_ns, one row per call; none where no device work was recorded.
    """
    calls = trace.runtime[is_any(trace.runtime["kind"], "sync")]
    work = [frame for frame in (trace.kernels, trace.copies) if len(frame)]
    start, end = (
        np.concatenate([np.empty(0, dtype=np.int64), *(one[name] for one in work)]) for name in ("start_ns", "end_ns")
    )
    order = np.argsort(start, kind="stable")
    done = np.append(np.maximum.accumulate(end[order]), 0)
    returns = calls["end_ns"].to_numpy()
    # Before the first work there is none: the last place, which is 0.
    since = np.maximum(done[np.searchsorted(start[order], returns, side="left") - 1], calls["start_ns"].to_numpy())
    late = (returns - since >= _RETURNS_NS) & bool(len(work))
    columns = {"name": calls["name"].array, "thread": calls["thread"].array, "start_ns": since, "end_ns": returns}
    return chosen(pd.DataFrame(columns), late).reset_index(drop=True)
