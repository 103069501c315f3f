"""The way from one op of the backward pass to the next, on the thread that autograd runs it on: no code of the program."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd

from analyzer.facts.host.threads import HostActivity
from analyzer.spans.arrays import BoolArray, Int64Array
from analyzer.spans.intervals import EMPTY, IntervalSet
from analyzer.spans.labels import matching
from traces.reader.names.autograd import BACKWARD_NODE
from traces.trace import Trace

# Autograd's engine takes 2 to 41 us from node to node (99 in 100, on three machines), as does a reducer from bucket to bucket; what
# takes longer has another reason, such as a hook.
_MOST_NS = 100_000


def engine_threads(trace: Trace) -> Int64Array:
    """The threads that evaluate nodes of the backward pass; a program's own where autograd needs none for it."""
    nodes = matching(trace.ops["name"], re.compile(BACKWARD_NODE).match)
    found: Int64Array = np.unique(trace.ops["thread"].to_numpy()[nodes]).astype(np.int64)
    return found


def engine_steps(trace: Trace, host: HostActivity, main: int | None) -> IntervalSet:
    """Gaps between ops that are short enough to be the engine's, on the threads that evaluate nodes of the backward pass.

    Args:
        trace: The trace.
        host: Its host activity.
        main: The training thread, which has the program's own code between its ops and does not count.
    """
    found = EMPTY
    for thread in engine_threads(trace).tolist():
        if thread != main:
            ops = host.during("ops", thread)
            start, end = ops.end_ns[:-1], ops.start_ns[1:]
            short = end - start < _MOST_NS
            found |= IntervalSet(start[short], end[short])
    return found


def called_by_nodes(ops: pd.DataFrame) -> BoolArray:
    """Whether an op is called by a node of the backward pass: the line that calls its like elsewhere is not its own."""
    node = matching(ops["name"], lambda name: name.startswith(BACKWARD_NODE))
    thread, start, end = (ops[name].to_numpy() for name in ("thread", "start_ns", "end_ns"))
    inside = np.zeros(len(ops), dtype=bool)
    for own in (thread == one for one in np.unique(thread[node])):
        inside[own] = IntervalSet(start[own & node], end[own & node]).contains(start[own])
    return inside & ~node
