"""Waits of the host for a collective: inside its call, or right behind a barrier's, where `torch.distributed.barrier` waits."""

from __future__ import annotations

import numpy as np
import pandas as pd

from analyzer.spans.arrays import BoolArray, Int64Array, ObjectArray
from analyzer.spans.labels import matching, texts
from traces.trace import Trace

# torch/distributed/distributed_c10d.py, `barrier`: it calls this, and waits for what that returns.
_BARRIER = "c10d::barrier"


def collective_of(trace: Trace, waits: pd.DataFrame) -> ObjectArray:
    """The name of the collective's call that each wait belongs to, empty for none. Shape (waits,).

    Args:
        trace: The trace.
        waits: Waiting calls, with thread and start_ns.
    """
    found = np.full(len(waits), "", dtype=object)
    calls = trace.collectives
    if not len(calls):
        return found
    names = texts(calls["name"]).astype(object)
    is_barrier: BoolArray = matching(calls["name"], lambda name: name == _BARRIER)
    thread, begun = waits["thread"].to_numpy(), waits["start_ns"].to_numpy()
    for one in np.unique(calls["thread"].to_numpy()).tolist():
        mine = np.flatnonzero(thread == one)
        mine = mine[np.argsort(begun[mine], kind="stable")]
        on_it = np.flatnonzero(calls["thread"].to_numpy() == one)
        ops = np.sort(trace.ops["start_ns"].to_numpy()[trace.ops["thread"].to_numpy() == one])
        behind = _behind(calls, on_it[is_barrier[on_it]], begun[mine], ops)
        found[mine[behind]] = _BARRIER
        around = _around(calls, on_it, begun[mine])
        found[mine[around >= 0]] = names[around[around >= 0]]
    return found


def _around(calls: pd.DataFrame, rows: Int64Array, at: Int64Array) -> Int64Array:
    """Row of the outermost call around each moment, -1 for none: a call is recorded under several names, inside one another."""
    start, end = (calls[name].to_numpy()[rows] for name in ("start_ns", "end_ns"))
    order = np.lexsort((-end, start))
    reached = np.maximum.accumulate(end[order])
    outermost = order[np.append(True, end[order][1:] > reached[:-1])]
    place = np.searchsorted(start[outermost], at, side="right") - 1
    inside = (place >= 0) & (end[outermost[place]] > at)
    found: Int64Array = np.where(inside, rows[outermost[place]], -1)
    return found


def _behind(calls: pd.DataFrame, barriers: Int64Array, at: Int64Array, ops: Int64Array) -> Int64Array:
    """The first moment of some that follows each barrier with no op between, as places among them."""
    if not len(barriers):
        return np.zeros(0, dtype=np.int64)
    ends = np.sort(calls["end_ns"].to_numpy()[barriers])
    last = np.searchsorted(ends, at, side="right") - 1
    known = np.flatnonzero((last >= 0) & (np.searchsorted(ops, at) == np.searchsorted(ops, ends)[last]))
    # One wait of each: what follows it is asked for by somebody else.
    return known[np.unique(last[known], return_index=True)[1]]
