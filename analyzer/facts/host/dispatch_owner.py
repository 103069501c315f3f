"""The op that owns idle time of the device, or the few that share it: eager dispatch is spread over many ops."""

from __future__ import annotations

import msgspec
import numpy as np
import pandas as pd

from analyzer.facts.device.section import DeviceFacts
from analyzer.facts.host.ops import OpTree
from analyzer.spans.arrays import BoolArray, Int64Array
from analyzer.spans.grouping import chosen, distinct
from analyzer.spans.intervals import IntervalSet
from analyzer.spans.labels import codes_of, distinct_texts, is_any
from analyzer.spans.nesting import own_ns
from traces.reader.names.vocabulary import around_accumulation
from traces.trace import Trace

# Of two ops that share some time one at most owns more than half of it. In recorded launch-bound training the largest owns 11 %.
_OWNING_PART = 0.5
# Dispatching an op takes 5 to 150 us in recorded traces, in the mean of the slowest kind: what holds a device up for a millisecond
# at each call does work of its own on the host.
_OWN_WORK_NS = 1_000_000
# Where none of its calls launches anything there is nothing to dispatch: twice the slowest is enough.
OWN_WORK_ALONE_NS = 300_000
# Where a gradient is added up one kernel is launched at most; the rest of a longer call are hooks of the program or of a library.
_HOOKED_NS = 200_000
# More than these, each a good part of the time, are no few.
_MOST_OPS = 3
# What is built in the first calls of an op is built by then, and takes so much longer than a call that finds it built.
_FIRST_PART = 0.25
_MANY_CALLS = 20
_MANY_TIMES = 10
_GOOD_PART = 0.1
# What owns half as much as the largest is no small matter beside it: to name the largest alone would hide it.
_PEER_PART = 0.5


class OwningOp(msgspec.Struct, frozen=True):
    """One op in which a good part of some idle time lies.

    Args:
        name: Of the op, or of a launch that no op makes.
        time_ns: How much of the idle time lies in its calls, outside the ops that they call.
        part: The same as a share of the idle time, 0..1.
        calls: In how many calls it lies.
        launches: Launches that begin in those calls: their time is dispatch, however long the op that makes them is.
        spans: Those calls.
        own_ns: How long they last, outside the ops that they call, whether the device idles or not.
        building: Whether they are the first of many calls, and the others take next to nothing: what is built once, for each
            shape or at all.
        others: How many calls the others are.
        launched_by: The call of the runtime in which most of that time lies, where the launch itself takes so long; None where
            it lies outside of launches.
    """

    name: str
    time_ns: int
    part: float
    calls: int
    launches: int
    spans: IntervalSet
    own_ns: int
    building: bool = False
    others: int = 0
    launched_by: str | None = None

    @property
    def each_ns(self) -> int:
        """How long each of those calls lasts, mean."""
        return self.own_ns // self.calls

    @property
    def idle_each_ns(self) -> int:
        """Idle time in each of those calls, mean."""
        return self.time_ns // self.calls

    @property
    def hooked(self) -> bool:
        """Whether gradients are added up there, where hooks run."""
        return around_accumulation(self.name)

    @property
    def works(self) -> bool:
        """Whether its calls are too long to be dispatch: fewer launches, or a graph, would not end them."""
        least = _HOOKED_NS if self.hooked else _OWN_WORK_NS if self.launches else OWN_WORK_ALONE_NS
        return self.time_ns // max(self.calls, self.launches) >= least


class DispatchOwner(msgspec.Struct, frozen=True):
    """The few ops in which most of some idle time lies, the largest first: all that own about as much, and all that work.

    Args:
        ops: The ops, not empty.
    """

    ops: tuple[OwningOp, ...]

    @property
    def at_work(self) -> tuple[OwningOp, ...]:
        """Those that work on the host."""
        return tuple(op for op in self.ops if op.works)

    @property
    def works(self) -> bool:
        """Whether those that work on the host own more than half of the time by themselves."""
        return sum(op.part for op in self.at_work) > _OWNING_PART

    @property
    def dispatches(self) -> bool:
        """Whether one of them is on the way to its launches, which fewer of these, or a graph, would shorten."""
        return len(self.at_work) < len(self.ops)


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
    if not idle or not len(trace.ops):
        return None
    found = _largest(trace, device, op_tree, idle)
    if not found:
        return None
    at_work = sum(op.time_ns for op in found if op.works)
    if max(at_work, found[0].time_ns) <= _OWNING_PART * idle.total_ns:
        return None
    worked = at_work > _OWNING_PART * idle.total_ns
    least = _PEER_PART * found[0].time_ns
    return DispatchOwner(tuple(op for op in found if op.time_ns >= least or (worked and op.works)))


class _LaunchCalls(msgspec.Struct, frozen=True):
    """Calls that launch kernels or graphs, with the op that makes them and how long the device idles inside.

    Args:
        calls: Their rows of `trace.runtime`.
        op: The innermost op around each, a row of the ops, -1 without one; int64, shape (calls,).
        idle_ns: Idle time inside each; int64, shape (calls,).
        name: Of the runtime's call; object, shape (calls,).
    """

    calls: pd.DataFrame
    op: Int64Array
    idle_ns: Int64Array
    name: np.ndarray[tuple[int], np.dtype[np.object_]]

    def mostly(self, ops: BoolArray, time_ns: int) -> str | None:
        """The name of the calls by these ops that hold more than half of their time; None where they hold less.

        Args:
            ops: Which ops are meant, shape (ops,).
            time_ns: The idle time in them.
        """
        own = (self.op >= 0) & ops[self.op]
        if 2 * int(self.idle_ns[own].sum()) <= time_ns:
            return None
        return str(self.name[own][int(np.argmax(self.idle_ns[own]))])

    def outside_ops(self, idle: IntervalSet) -> list[OwningOp]:
        """Those that no op makes, as a graph that the program replays by itself, where they last too long to be dispatch."""
        found = []
        for name in np.unique(self.name[self.op < 0].astype(str)).tolist():
            mine = (self.op < 0) & (self.name == name)
            spans, time_ns = IntervalSet.of_rows(chosen(self.calls, mine)), int(self.idle_ns[mine].sum())
            one = OwningOp(
                name=name,
                time_ns=time_ns,
                part=min(time_ns / idle.total_ns, 1.0),
                calls=int(mine.sum()),
                launches=int(mine.sum()),
                spans=spans,
                own_ns=int(self.calls["dur_ns"].to_numpy()[mine].sum()),
                launched_by=name,
            )
            if one.works and time_ns >= _GOOD_PART * idle.total_ns:
                found.append(one)
        return found


def _launch_calls(trace: Trace, op_tree: OpTree, idle: IntervalSet) -> _LaunchCalls:
    """The calls that launch, in which the device idles: few of all, however many launches there are."""
    calls = chosen(trace.runtime, is_any(trace.runtime["kind"], "launch", "graph_launch"))
    inside = idle.overlap_with(calls["start_ns"].to_numpy(), calls["end_ns"].to_numpy())
    calls = chosen(calls, inside > 0)
    op = op_tree.enclosing(calls["thread"].to_numpy(), calls["start_ns"].to_numpy())
    return _LaunchCalls(calls, op, inside[inside > 0], calls["name"].to_numpy(dtype=object))


def _largest(trace: Trace, device: DeviceFacts, op_tree: OpTree, idle: IntervalSet) -> list[OwningOp]:
    """The ops that own a good part of the time, the largest first, at most three."""
    ops = trace.ops
    start, end = ops["start_ns"].to_numpy(), ops["end_ns"].to_numpy()
    # Other threads have ops meanwhile; the device waits for those that launch.
    launching = np.isin(ops["thread"].to_numpy(), np.unique(device.launched["launch_thread"].to_numpy()))
    own = np.maximum(own_ns(idle.overlap_with(start, end), op_tree.parent), 0)
    own[~launching] = 0
    lasting = own_ns(ops["dur_ns"].to_numpy(), op_tree.parent)
    names = distinct_texts(ops["name"])
    codes = codes_of(ops["name"])
    calls_of = _launch_calls(trace, op_tree, idle)
    totals = np.zeros(len(names), dtype=np.int64)
    np.add.at(totals, codes, own)
    launched = trace.runtime["start_ns"].to_numpy()[distinct(device.launched["launch_row"].to_numpy())]

    def owner(code: int) -> OwningOp:
        every = (codes == code) & launching
        mine = every & (own > 0)
        spans = IntervalSet(start[mine], end[mine])
        building = _at_first(mine[every], ops["dur_ns"].to_numpy()[every])
        time_ns, calls = int(totals[code]), int(mine.sum())
        return OwningOp(
            name=names[code],
            time_ns=time_ns,
            part=min(time_ns / idle.total_ns, 1.0),
            calls=calls,
            launches=int(spans.contains(launched).sum()),
            spans=spans,
            building=building,
            others=int(every.sum()) - calls if building else 0,
            own_ns=max(int(lasting[mine].sum()), time_ns),
            launched_by=calls_of.mostly(mine, time_ns),
        )

    largest = np.argsort(-totals, kind="stable")[:_MOST_OPS].tolist()
    found = [owner(code) for code in largest if totals[code] >= max(_GOOD_PART * idle.total_ns, 1)]
    return sorted(found + calls_of.outside_ops(idle), key=lambda one: -one.time_ns)[:_MOST_OPS]
