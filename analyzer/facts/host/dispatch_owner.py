"""The op that owns idle time of the device: eager dispatch is spread over many ops, work of one op on the host is not."""

from __future__ import annotations

import msgspec
import numpy as np

from analyzer.facts.device.section import DeviceFacts
from analyzer.facts.host.ops import OpTree
from analyzer.spans.intervals import IntervalSet
from analyzer.spans.labels import codes_of, distinct_texts
from traces.trace import Trace

# Of two ops that share some time one at most owns more than half of it. In recorded launch-bound training the largest owns 11 %.
_OWNING_PART = 0.5
# Dispatching an op takes 5 to 150 us in recorded traces, in the mean of the slowest kind: what holds a device up for a millisecond
# at each call does work of its own on the host.
_OWN_WORK_NS = 1_000_000


class DispatchOwner(msgspec.Struct, frozen=True):
    """One op in which most of some idle time lies.

    Args:
        name: Of the op.
        time_ns: How much of the idle time lies in its calls, outside the ops that they call.
        part: The same as a share of the idle time, 0..1.
        calls: In how many calls it lies.
        launches: Launches that begin in those calls: their time is dispatch, however long the op that makes them is.
        spans: Those calls.
    """

    name: str
    time_ns: int
    part: float
    calls: int
    launches: int
    spans: IntervalSet

    @property
    def each_ns(self) -> int:
        """Idle time in each of those calls, mean."""
        return self.time_ns // self.calls

    @property
    def works(self) -> bool:
        """Whether its calls are too long to be dispatch: fewer launches, or a graph, would not end them."""
        return self.time_ns // max(self.calls, self.launches) >= _OWN_WORK_NS


def dispatch_owner(trace: Trace, device: DeviceFacts, op_tree: OpTree, idle: IntervalSet) -> DispatchOwner | None:
    """The op that owns more than half of some idle time; None where none does.

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
    # Other threads have ops meanwhile; the device waits for those that launch.
    launching = np.isin(ops["thread"].to_numpy(), np.unique(device.launched["launch_thread"].to_numpy()))
    own = np.where(launching, np.maximum(own, 0), 0)
    names = distinct_texts(ops["name"])
    codes = codes_of(ops["name"])
    totals = np.zeros(len(names), dtype=np.int64)
    np.add.at(totals, codes, own)
    first = int(totals.argmax())
    part = int(totals[first]) / idle.total_ns
    if part <= _OWNING_PART:
        return None
    mine = (codes == first) & (own > 0)
    spans = IntervalSet(ops["start_ns"].to_numpy()[mine], ops["end_ns"].to_numpy()[mine])
    launched = trace.runtime["start_ns"].to_numpy()[np.unique(device.launched["launch_row"].to_numpy())]
    launches = int(spans.contains(launched).sum())
    return DispatchOwner(names[first], int(totals[first]), min(part, 1.0), int(mine.sum()), launches, spans)
