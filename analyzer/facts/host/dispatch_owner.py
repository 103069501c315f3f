"""The op that owns idle time of the device, or the few that work on the host: eager dispatch is spread over many ops."""

from __future__ import annotations

import msgspec
import numpy as np

from analyzer.facts.device.section import DeviceFacts
from analyzer.facts.host.ops import OpTree
from analyzer.spans.arrays import BoolArray, Int64Array
from analyzer.spans.grouping import distinct
from analyzer.spans.intervals import IntervalSet
from analyzer.spans.labels import codes_of, distinct_texts
from traces.trace import Trace

# Of two ops that share some time one at most owns more than half of it. In recorded launch-bound training the largest owns 11 %.
_OWNING_PART = 0.5
# Dispatching an op takes 5 to 150 us in recorded traces, in the mean of the slowest kind: what holds a device up for a millisecond
# at each call does work of its own on the host.
_OWN_WORK_NS = 1_000_000
# Where none of its calls launches anything there is nothing to dispatch: twice the slowest is enough.
OWN_WORK_ALONE_NS = 300_000
# More than these, each a good part of the time, are no few.
_MOST_OPS = 3
# What is built in the first calls of an op is built by then, and takes so much longer than a call that finds it built.
_FIRST_PART = 0.25
_MANY_CALLS = 20
_MANY_TIMES = 10
_GOOD_PART = 0.1


class DispatchOwner(msgspec.Struct, frozen=True):
    """One op in which most of some idle time lies, or a few that work on the host for most of it.

    Args:
        name: Of the op; of several, with "` and `" between them, as a sentence puts names between backticks.
        time_ns: How much of the idle time lies in its calls, outside the ops that they call.
        part: The same as a share of the idle time, 0..1.
        calls: In how many calls it lies.
        launches: Launches that begin in those calls: their time is dispatch, however long the op that makes them is.
        spans: Those calls.
        building: Whether they are the first of many calls, and the others take next to nothing: what is built once, for each
            shape or
            at all.
        others: How many calls the others are.
    """

    name: str
    time_ns: int
    part: float
    calls: int
    launches: int
    spans: IntervalSet
    building: bool = False
    others: int = 0

    @property
    def each_ns(self) -> int:
        """Idle time in each of those calls, mean."""
        return self.time_ns // self.calls

    @property
    def works(self) -> bool:
        """Whether its calls are too long to be dispatch: fewer launches, or a graph, would not end them."""
        least = _OWN_WORK_NS if self.launches else OWN_WORK_ALONE_NS
        return self.time_ns // max(self.calls, self.launches) >= least


def _at_first(mine: BoolArray, dur_ns: Int64Array) -> bool:
    """Whether the calls that the device waits in lie in the first part of all, and take many times as long as the others.

    Args:
        mine: Which they are of all calls of the op in their order, shape (calls,).
        dur_ns: How long each call takes, shape (calls,).
    """
    if mine.all() or not mine.any() or len(mine) < _MANY_CALLS:
        return False
    last = int(np.flatnonzero(mine)[-1])
    return last < _FIRST_PART * len(mine) and float(dur_ns[mine].min()) >= _MANY_TIMES * float(np.median(dur_ns[~mine]))


def dispatch_owner(trace: Trace, device: DeviceFacts, op_tree: OpTree, idle: IntervalSet) -> DispatchOwner | None:
    """The op that owns more than half of some idle time, or the few that do, each by work on the host; None where none does.

    Args:
        trace: The trace.
        device: Work of the devices.
        op_tree: Which op encloses which.
        idle: Time in which the device idles.
    """
    ops = trace.ops
    if not idle or not len(ops):
        return None
    inside = idle.overlap_with(ops["start_ns"].to_numpy(), ops["end_ns"].to_numpy())
    parent = op_tree.parent
    nested = np.flatnonzero(parent != np.arange(len(parent)))
    own = inside.copy()
    np.subtract.at(own, parent[nested], inside[nested])
    del inside, nested
    # Other threads have ops meanwhile; the device waits for those that launch.
    launching = np.isin(ops["thread"].to_numpy(), np.unique(device.launched["launch_thread"].to_numpy()))
    np.maximum(own, 0, out=own)
    own[~launching] = 0
    names = distinct_texts(ops["name"])
    codes = codes_of(ops["name"])
    totals = np.zeros(len(names), dtype=np.int64)
    np.add.at(totals, codes, own)
    calls = np.bincount(codes[own > 0], minlength=len(names))
    launched = trace.runtime["start_ns"].to_numpy()[distinct(device.launched["launch_row"].to_numpy())]

    def owner(chosen: list[int]) -> DispatchOwner:
        mine = np.isin(codes, chosen) & (own > 0)
        spans = IntervalSet(ops["start_ns"].to_numpy()[mine], ops["end_ns"].to_numpy()[mine])
        time_ns, launches = int(totals[chosen].sum()), int(spans.contains(launched).sum())
        name = "` and `".join(names[one] for one in chosen)
        part, number = min(time_ns / idle.total_ns, 1.0), int(calls[chosen].sum())
        every = np.isin(codes, chosen) & launching
        building = _at_first(mine[every], ops["dur_ns"].to_numpy()[every])
        return DispatchOwner(
            name, time_ns, part, number, launches, spans, building, int(every.sum()) - number if building else 0
        )

    largest = np.argsort(-totals, kind="stable")[:_MOST_OPS].tolist()
    if totals[largest[0]] > _OWNING_PART * idle.total_ns:
        return owner(largest[:1])
    few = [one for one in largest if totals[one] >= _GOOD_PART * idle.total_ns and owner([one]).works]
    return owner(few) if len(few) > 1 and totals[few].sum() > _OWNING_PART * idle.total_ns else None
