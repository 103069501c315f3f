"""The job played again with something made ideal: what a step would take then.

Method: ByteDance, "What-if analysis of stragglers" (OSDI'25). Every rank goes through its own work and its collectives in the order
it did. A collective ends for all when the last member has arrived and the data is moved; of the time in it, the rank's compute
hides as much as it hid in the recording. Ranks meet level by level: a level holds the collectives that all their members
have reached.
"""

from __future__ import annotations

import msgspec
import numpy as np

from analyzer.ranks.arrivals import Arrivals
from analyzer.ranks.matching import Matched
from analyzer.ranks.table import Table
from analyzer.spans.arrays import FloatArray, Int64Array


class Level(msgspec.Struct, frozen=True):
    """Collectives that can be played at once: no rank is in two of them.

    Args:
        rows: Rows of the table, by instance.
        first: Where each instance begins in `rows`.
        place: Which of the level's instances each row is of.
        instance: Number of each instance.
    """

    rows: Int64Array
    first: Int64Array
    place: Int64Array
    instance: Int64Array


class Replay:
    """A job that can be played again.

    Args:
        table: The rows.
        matched: Which belong together.
        found: Waiting and transfer of each.
        start_ns: Start of each row on the common clock, shape (rows,).
    """

    def __init__(self, table: Table, matched: Matched, found: Arrivals, start_ns: FloatArray) -> None:
        rows = table.rows
        self._ranks = len(table.summaries)
        self._steps = max((len(one.steps) for one in table.summaries), default=0)
        self._tail = table.tail_ns.astype(np.float64)
        self._member = rows.member
        self._exposed = rows.exposed_ns.astype(np.float64)
        self._hidden = (rows.dur_ns - rows.exposed_ns).astype(np.float64)
        self._free = ~_depends(table, matched, found)
        self.own_ns = rows.own_ns.astype(np.float64)
        self.transfer_ns = found.transfer_ns.astype(np.float64)
        self._begin = _begins(table, start_ns, self.own_ns)
        self._levels = _levels(table, matched)
        self.as_recorded_ns = self.step_ns(self.own_ns, self.transfer_ns)

    def step_ns(self, own_ns: FloatArray, transfer_ns: FloatArray, tail_ns: FloatArray | None = None) -> float:
        """Mean step of the job where ranks work so long between collectives, and these move their data so long.

        Args:
            own_ns: Work in front of each row, shape (rows,).
            transfer_ns: Of each instance, shape (instances,).
            tail_ns: Work behind each rank's last collective, shape (ranks,); None as recorded.
        """
        if not self._ranks:
            return 0.0
        at = self._begin.copy()
        for level in self._levels:
            rows = level.rows
            member = self._member[rows]
            arrived = at[member] + own_ns[rows]
            if not len(level.instance):
                at[member] = arrived + self._exposed[rows]
                continue
            end = np.maximum.reduceat(arrived, level.first) + transfer_ns[level.instance]
            inside = np.maximum(end[level.place] - arrived - self._hidden[rows], 0.0)
            at[member] = arrived + np.where(self._free[rows], self._exposed[rows], inside)
        finished = at + (self._tail if tail_ns is None else tail_ns)
        return float(finished.max() - self._begin.min()) / max(self._steps, 1)


def _depends(table: Table, matched: Matched, found: Arrivals) -> np.ndarray:
    """Which rows last until others have arrived, shape (rows,): members of what one waits in, but not senders."""
    depends = np.zeros(len(table.rows), dtype=bool)
    depends[matched.rows] = found.waits[matched.instance] if len(matched.rows) else False
    sends = np.array([name == "send" for name in table.kinds] or [False], dtype=bool)
    return depends & ~sends[table.rows.kind] if len(depends) else depends


def _begins(table: Table, start_ns: FloatArray, own_ns: FloatArray) -> FloatArray:
    """When each rank begins: what it did before its first collective reaches back from there."""
    rows = table.rows
    begin = np.zeros(len(table.summaries))
    members, first = np.unique(rows.member, return_index=True)
    begin[members] = start_ns[first] - own_ns[first]
    if len(members):
        begin[np.setdiff1d(np.arange(len(begin)), members)] = begin[members].min()
    return begin


def _levels(table: Table, matched: Matched) -> list[Level]:
    """Every row exactly once, each rank's in order; a row without others is an instance of its own, beside the numbered ones."""
    rows = table.rows
    instance = np.full(len(rows), -1, dtype=np.int64)
    instance[matched.rows] = matched.instance
    count = np.bincount(rows.member, minlength=len(table.summaries))
    begin = np.cumsum(count) - count
    end = begin + count
    head = begin.copy()
    levels: list[Level] = []
    # A row of its own counts as met at once; its work goes to the next one of its rank.
    while True:
        waiting = np.flatnonzero(head < end)
        if not len(waiting):
            return levels
        at = instance[head[waiting]]
        alone = at < 0
        if alone.any():
            levels.append(_alone(head[waiting[alone]]))
            head[waiting[alone]] += 1
            continue
        here = np.bincount(at, minlength=len(matched))
        ready = here[at] == matched.size[at]
        if not ready.any():
            # Orders contradict one another across groups: the earliest goes first, without waiting.
            earliest = waiting[np.argmin(rows.start_ns[head[waiting]])]
            levels.append(_alone(head[[earliest]]))
            _forget(instance, matched, int(instance[head[earliest]]))
            head[earliest] += 1
            continue
        levels.append(_met(head[waiting[ready]], at[ready]))
        head[waiting[ready]] += 1


def _alone(rows: Int64Array) -> Level:
    nothing = np.zeros(0, dtype=np.int64)
    return Level(rows, nothing, nothing, nothing)


def _forget(instance: Int64Array, matched: Matched, one: int) -> None:
    """Takes an instance apart."""
    first, size = int(matched.first[one]), int(matched.size[one])
    instance[matched.rows[first : first + size]] = -1


def _met(rows: Int64Array, at: Int64Array) -> Level:
    order = np.argsort(at, kind="stable")
    numbers, first, place = np.unique(at[order], return_index=True, return_inverse=True)
    return Level(rows[order], first.astype(np.int64), place.astype(np.int64), numbers)
