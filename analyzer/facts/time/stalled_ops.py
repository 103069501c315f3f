"""Ops that took far longer than in other steps: what a thread without a core leaves in a trace where nobody asked the system.

An op of torch's own takes about as long at its place in each step, without what it calls. Python's garbage collector does not
run inside it, so where it once takes ten milliseconds more its thread was not running, or it had more to do; and what lies
between ops stands still for want of a core as often as ops do.
"""

from __future__ import annotations

import msgspec
import numpy as np

from analyzer.facts.host.section import HostFacts
from analyzer.facts.steps.find import Steps
from analyzer.facts.time.pauses import SILENCE_NS
from analyzer.spans.arrays import Int64Array
from analyzer.spans.labels import codes_of
from analyzer.spans.nesting import own_ns

# What is more by half is no noise of a long op.
_MORE = 1.5
# What an op does in every other step is its work.
_SELDOM = 0.5


class StalledOps(msgspec.Struct, frozen=True):
    """Torch's ops on the training thread that come at the same place in more than half of the used steps, without what they call.

    Args:
        count: Those that took far longer than there usually.
        stalled_ns: What these took beyond the median at their place.
        watched_ns: Time of all of them, without `stalled_ns`.
    """

    count: int
    stalled_ns: int
    watched_ns: int

    def expected_ns(self, time_ns: int) -> int:
        """How much of some other time of the thread stands still, if it does so as often as the ops do.

        Args:
            time_ns: That time, with what stands still in it.
        """
        total = self.watched_ns + self.stalled_ns
        return int(time_ns * (self.stalled_ns / total)) if total else 0


def stalled_ops(steps: Steps, host: HostFacts) -> StalledOps:
    """Measures them."""
    tree = host.tree
    frame = tree.frame
    start = frame["start_ns"].to_numpy()
    # Inside a function of the user's, whose name is its class, Python runs.
    mine = tree.matching("aten::|mkldnn") & tree.of_source("ops") & (frame["thread"].to_numpy() == host.main_thread)
    rows = np.flatnonzero(mine & steps.host_window.contains(start))
    step, name = steps.of_host(start[rows]), codes_of(frame["name"])[rows].astype(np.int64)
    # By name and how many of that name come before it in its step, then by how long it takes.
    order = np.lexsort((start[rows], step, name))
    rows, step, name = rows[order], step[order], name[order]
    place = _count_along(name, step)
    dur = own_ns(frame["dur_ns"].to_numpy(np.int64), tree.parent)[rows]
    order = np.lexsort((dur, place, name))
    dur, same = dur[order], _runs(name[order], place[order])
    size = np.bincount(same)
    usual = dur[np.concatenate([[0], np.cumsum(size)[:-1]]).astype(np.int64) + size // 2] if len(size) else dur
    usual, often = usual[same], size[same] > _SELDOM * steps.count
    long = often & (dur - usual >= np.maximum(SILENCE_NS, (_MORE - 1) * usual))
    stalled = int((dur - usual)[long].sum())
    return StalledOps(int(long.sum()), stalled, int(dur[often].sum()) - stalled)


def _runs(*columns: Int64Array) -> Int64Array:
    """The number of the run of equal rows that each row is in, shape (n,)."""
    changed = np.any([column[1:] != column[:-1] for column in columns], axis=0)
    return np.concatenate([[0], np.cumsum(changed)]) if len(columns[0]) else np.empty(0, dtype=np.int64)


def _count_along(*columns: Int64Array) -> Int64Array:
    """How many equal rows stand before each row in its run, shape (n,)."""
    run = _runs(*columns)
    size = np.bincount(run)
    return np.arange(len(run)) - np.repeat(np.cumsum(size) - size, size)
