"""Ops that took far longer than in other steps: what a thread without a core leaves in a trace where nobody asked the system.

An op of torch's own takes about as long at its place in each step, without what it calls. Python's garbage collector does not
run inside it, so where it once takes ten milliseconds more its thread was not running, or it had more to do; and what lies
between ops stands still for want of a core as often as ops do.
"""

from __future__ import annotations

from math import comb

import msgspec
import numpy as np
import numpy.typing as npt
import pandas as pd

from analyzer.facts.host.section import HostFacts
from analyzer.facts.steps.find import Steps
from analyzer.facts.time.pauses import SILENCE_NS
from analyzer.spans.arrays import Int64Array
from analyzer.spans.intervals import IntervalSet
from analyzer.spans.labels import codes_of
from analyzer.spans.nesting import own_ns
from traces.ordering import in_order

# What is more by half is no noise of a long op.
_MORE = 1.5
# What an op does in every other step is its work.
_SELDOM = 0.5
# With fewer steps none is "the others": places are then told by the op before, and hold so many alike at least.
_FEWEST_STEPS = 3
_ALIKE = 10
# Ops that take longer than this may take as much more because their shapes are others, which at one place in a step they are not.
_SMALL_NS = 500_000
# Of a few stops, so many times as many may fall on one kind of time.
_BY_CHANCE = 2
# What comes this often by chance is no difference; of more stops than these the shares of time tell without any chance.
_SELDOM_BY_CHANCE, _FEW_STOPS = 0.05, 50


class StalledOps(msgspec.Struct, frozen=True):
    """Torch's ops on the training thread of which it is known what they usually take at their place, without what they call.

    Args:
        count: Those that took far longer than there usually.
        stalled_ns: What these took beyond the median at their place.
        watched_ns: Time of all of them, without `stalled_ns`.
        by_steps: Whether they are compared with those of other steps; where there are too few, with those behind the same op.
    """

    count: int
    stalled_ns: int
    watched_ns: int
    by_steps: bool = True

    def expected_ns(self, time_ns: int) -> int:
        """How much of some other time of the thread stands still, if it does so as often as the ops do.

        Args:
            time_ns: That time, with what stands still in it.
        """
        total = self.watched_ns + self.stalled_ns
        return int(time_ns * (self.stalled_ns / total)) if total else 0

    def as_often(self, stretches: IntervalSet, around_ns: int) -> bool:
        """Whether ops stand still as often as these stretches, or as long for the time that they take.

        Args:
            stretches: Of the thread, outside ops, in which it may have had no core.
            around_ns: All time of the thread outside ops.
        """
        if len(stretches) <= self.count or stretches.total_ns <= _BY_CHANCE * self.expected_ns(around_ns):
            return True
        return self._by_chance(len(stretches), around_ns - stretches.total_ns)

    def _by_chance(self, stretches: int, around_ns: int) -> bool:
        """Whether as many of the few stops, or more, fall outside ops where each falls anywhere: two of three say nothing."""
        stops, time = stretches + self.count, self.watched_ns + max(around_ns, 0)
        if not self.count or stops > _FEW_STOPS or not time:
            return False
        outside = max(around_ns, 0) / time
        chance = sum(comb(stops, n) * outside**n * (1 - outside) ** (stops - n) for n in range(stretches, stops + 1))
        return chance >= _SELDOM_BY_CHANCE


def stalled_ops(steps: Steps, host: HostFacts, least_ns: int = SILENCE_NS) -> StalledOps:
    """Measures them.

    Args:
        steps: The steps.
        host: What the host's threads do.
        least_ns: What took less than this beyond its median is not counted.
    """
    rows, dur = own_work(steps, host)
    usual = at_their_place(steps, host.tree.frame, rows, dur)
    more = dur - usual.median_ns
    long = usual.often & (more >= np.maximum(least_ns, (_MORE - 1) * usual.median_ns))
    stalled = int(more[long].sum())
    return StalledOps(int(long.sum()), stalled, int(dur[usual.often].sum()) - stalled, steps.count >= _FEWEST_STEPS)


def own_work(steps: Steps, host: HostFacts) -> tuple[Int64Array, Int64Array]:
    """Rows of torch's own ops on the training thread in the steps, and what each takes without what it calls.

    Args:
        steps: The steps.
        host: What the host's threads do.
    """
    tree = host.tree
    frame = tree.frame
    # Inside a function of the user's, whose name is its class, Python runs.
    mine = tree.matching("aten::|mkldnn") & tree.of_source("ops") & (frame["thread"].to_numpy() == host.main_thread)
    rows = np.flatnonzero(mine & steps.host_window.contains(frame["start_ns"].to_numpy()))
    return rows, own_ns(tree.dur_ns, tree.parent)[rows]


class Usual(msgspec.Struct, frozen=True):
    """What ops usually take at their place: the same name, as often before in its step, or of few steps behind the same op.

    Args:
        median_ns: Of the steps that have one there, for each op; without steps what three of four take.
        often: Whether more than half of the used steps have one there; without steps, whether many stand there and take little.
    """

    median_ns: Int64Array
    often: npt.NDArray[np.bool_]


def at_their_place(steps: Steps, frame: pd.DataFrame, rows: Int64Array, taken_ns: Int64Array) -> Usual:
    """What ops usually take at their place in the step.

    Args:
        steps: The steps.
        frame: Start and name of all.
        rows: Rows of the ops.
        taken_ns: What each of these takes.
    """
    start = frame["start_ns"].to_numpy()[rows]
    step, name = steps.of_host(start), codes_of(frame["name"])[rows].astype(np.int64)
    few = steps.count < _FEWEST_STEPS
    # By name and how many of that name come before it in its step, then by how long it takes.
    place = np.empty_like(name)
    if few:
        order = in_order(start)
        place[order] = np.concatenate([[-1], name[order][:-1]]) if len(order) else order
    else:
        order = in_order(start, step, name)
        place[order] = _count_along(name[order], step[order])
    order = in_order(taken_ns, place, name)
    same = _runs(name[order], place[order])
    size = np.bincount(same)
    first = np.cumsum(size) - size
    median: Int64Array = np.zeros(len(rows), dtype=np.int64)
    often = np.zeros(len(rows), dtype=bool)
    if len(rows):
        usual = taken_ns[order][first + (3 * size // 4 if few else size // 2)]
        median[order] = usual[same]
        often[order] = ((size >= _ALIKE) & (usual < _SMALL_NS) if few else size > _SELDOM * steps.count)[same]
    return Usual(median, often)


def _runs(*columns: Int64Array) -> Int64Array:
    """The number of the run of equal rows that each row is in, shape (n,)."""
    changed = np.any([column[1:] != column[:-1] for column in columns], axis=0)
    return np.concatenate([[0], np.cumsum(changed)]) if len(columns[0]) else np.empty(0, dtype=np.int64)


def _count_along(*columns: Int64Array) -> Int64Array:
    """How many equal rows stand before each row in its run, shape (n,)."""
    run = _runs(*columns)
    size = np.bincount(run)
    return np.arange(len(run)) - np.repeat(np.cumsum(size) - size, size)
