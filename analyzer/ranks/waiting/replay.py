"""The job played again with something made ideal: what a step would take then.

Method: ByteDance, "What-if analysis of stragglers" (OSDI'25). Every rank goes through its own work and its collectives in the order
it did. A collective ends for all when the last member has arrived and the data is moved, a batch of messages when the last of them
is through; of the time in it, the rank's compute hides as much as it hid in the recording. One that the rank began beside another
is not held back by that. Ranks meet level by level: first all arrive at what is next for them, then those leave whose others are
there.
"""

from __future__ import annotations

import msgspec
import numpy as np

from analyzer.ranks.alignment.matching import Matched
from analyzer.ranks.alignment.table import Table
from analyzer.ranks.waiting.arrivals import Arrivals
from analyzer.ranks.waiting.stopping import Stopping, stopping
from analyzer.spans.arrays import FloatArray, Int64Array


class Level(msgspec.Struct, frozen=True):
    """What can be played at once: a stop is a collective, or a batch of messages, of one rank.

    Args:
        arriving: Stops that their ranks come to.
        free: Stops that their ranks leave whoever else is there.
        leaving: Stops that their ranks leave when the others have come, by the pieces below.
        instance: Instances that those wait in, each once.
        stops: Stops of each instance's members, by instance.
        first: Where each instance begins in `stops`.
        piece: Place in `instance` of each that a leaving stop waits in, by stop.
        piece_first: Where each leaving stop begins in `piece`.
    """

    arriving: Int64Array
    free: Int64Array
    leaving: Int64Array
    instance: Int64Array
    stops: Int64Array
    first: Int64Array
    piece: Int64Array
    piece_first: Int64Array


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
        self._lead = np.flatnonzero(rows.leads)
        self._member = rows.member[self._lead]
        self.own_ns = rows.own_ns.astype(np.float64)
        exposed = rows.exposed_ns[self._lead].astype(np.float64)
        start, dur = rows.start_ns[self._lead], rows.dur_ns[self._lead]
        self._turns = stopping(self._member, start, dur, self._of_stops(self.own_ns), exposed)
        self._exposed = np.maximum(exposed - self._turns.hidden_ns, 0.0)
        self._hidden = dur - self._exposed
        self.transfer_ns = found.transfer_ns.astype(np.float64)
        self._dur = dur.astype(np.float64)
        self._message = self._messages(len(rows), matched)
        self._begin = _begins(table, start_ns, self.own_ns)
        self._levels = _Order(table, matched, found, self._turns).levels()
        self.as_recorded_ns = self.step_ns(self.own_ns, self.transfer_ns)

    def _of_stops(self, own_ns: FloatArray) -> FloatArray:
        """What lies in front of each stop, shape (stops,)."""
        found: FloatArray = np.add.reduceat(own_ns, self._lead) if len(self._lead) else own_ns
        return found

    def _messages(self, rows: int, matched: Matched) -> Int64Array:
        """The instance of each stop that is in one alone, else -1, shape (stops,)."""
        instance = np.full(rows, -1, dtype=np.int64)
        instance[matched.rows] = matched.instance
        alone = np.diff(np.append(self._lead, rows)) == 1
        return np.where(alone, instance[self._lead], -1)

    def _left(self, transfer_ns: FloatArray) -> FloatArray:
        """What nothing hides of each stop whose rank waits for nobody: it moves its data faster as well; shape (stops,)."""
        of = self._message
        faster = np.ones(len(of))
        if len(transfer_ns):
            faster = np.where(of >= 0, transfer_ns[of] / np.maximum(self.transfer_ns[of], 1.0), 1.0)
        return np.where(faster == 1.0, self._exposed, np.maximum(self._dur * faster - self._hidden, 0.0))

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
        own = self._of_stops(own_ns) + self._turns.besides_ns
        arrived = np.zeros(len(self._lead))
        left = self._left(transfer_ns)
        for level in self._levels:
            coming = level.arriving
            at[self._member[coming]] += own[coming]
            arrived[coming] = at[self._member[coming]]
            free = level.free
            at[self._member[free]] += left[free]
            if not len(level.leaving):
                continue
            end = np.maximum.reduceat(arrived[level.stops], level.first) + transfer_ns[level.instance]
            leaving = level.leaving
            last = np.maximum.reduceat(end[level.piece], level.piece_first)
            inside = np.maximum(last - arrived[leaving] - self._hidden[leaving], 0.0)
            at[self._member[leaving]] += inside
        finished = at + (self._tail if tail_ns is None else tail_ns)
        return float(finished.max() - self._begin.min()) / max(self._steps, 1)


def _begins(table: Table, start_ns: FloatArray, own_ns: FloatArray) -> FloatArray:
    """When each rank begins: what it did before its first collective reaches back from there."""
    rows = table.rows
    begin = np.zeros(len(table.summaries))
    members, first = np.unique(rows.member, return_index=True)
    begin[members] = start_ns[first] - own_ns[first]
    if len(members):
        begin[np.setdiff1d(np.arange(len(begin)), members)] = begin[members].min()
    return begin


class _Order:
    """In which order stops can be played: every one exactly once, each rank's in its order."""

    def __init__(self, table: Table, matched: Matched, found: Arrivals, turns: Stopping) -> None:
        rows = table.rows
        self._turns = turns
        self._start_ns = rows.start_ns
        self._stop = rows.stop
        self._first = np.append(np.flatnonzero(rows.leads), len(rows))
        self._matched = matched
        self._instance = np.full(len(rows), -1, dtype=np.int64)
        self._instance[matched.rows] = matched.instance
        depends = np.zeros(len(rows), dtype=bool)
        depends[matched.rows] = found.depends
        self._depends = depends
        self._missing = matched.size.copy()
        count = 2 * np.bincount(rows.member[rows.leads], minlength=len(table.summaries))
        self._end = np.cumsum(count)
        self._head = self._end - count

    def levels(self) -> list[Level]:
        """The levels, by order."""
        levels: list[Level] = []
        head = self._head
        stops, leaves = self._turns.turns, np.append(self._turns.leaves, False)
        while True:
            going = np.flatnonzero(head < self._end)
            if not len(going):
                return levels
            comes = going[~leaves[head[going]]]
            coming = stops[head[comes]]
            self._come(coming)
            head[comes] += 1
            ranks = going[leaves[head[going]] & (head[going] < self._end[going])]
            waiting = stops[head[ranks]]
            held = self._held(waiting)
            if len(held) and held.all() and not len(coming):
                # Orders contradict one another across groups: the earliest goes first, without waiting.
                earliest = int(np.argmin(self._start_ns[self._first[waiting]]))
                self._forget(int(waiting[earliest]))
                held[earliest] = False
            levels.append(self._level(coming, waiting[~held]))
            head[ranks[~held]] += 1

    def _rows(self, stops: Int64Array) -> tuple[Int64Array, Int64Array]:
        """The rows of some stops, and the place of each row's stop among them."""
        many = self._first[stops + 1] - self._first[stops]
        place = np.repeat(np.arange(len(stops)), many)
        offset = np.arange(len(place)) - np.repeat(np.cumsum(many) - many, many)
        return self._first[stops][place] + offset, place

    def _come(self, stops: Int64Array) -> None:
        rows, _ = self._rows(stops)
        instance = self._instance[rows]
        np.subtract.at(self._missing, instance[instance >= 0], 1)

    def _held(self, stops: Int64Array) -> np.ndarray:
        """Which stops wait for somebody who has not come, shape (stops,)."""
        rows, place = self._rows(stops)
        instance = self._instance[rows]
        holds = self._depends[rows] & (instance >= 0)
        holds[holds] = self._missing[instance[holds]] > 0
        return np.asarray(np.bincount(place[holds], minlength=len(stops)) > 0)

    def _forget(self, stop: int) -> None:
        """Takes apart what a stop waits in."""
        for row in range(self._first[stop], self._first[stop + 1]):
            one = int(self._instance[row])
            if one >= 0:
                first, size = int(self._matched.first[one]), int(self._matched.size[one])
                self._instance[self._matched.rows[first : first + size]] = -1

    def _level(self, arriving: Int64Array, leaving: Int64Array) -> Level:
        rows, place = self._rows(leaving)
        waits = self._depends[rows] & (self._instance[rows] >= 0)
        rows, place = rows[waits], place[waits]
        bound, at = np.unique(place, return_index=True)
        free = np.setdiff1d(leaving, leaving[bound])
        instance, piece = np.unique(self._instance[rows], return_inverse=True)
        many = self._matched.size[instance]
        first = np.cumsum(many) - many
        members = np.repeat(self._matched.first[instance] - first, many) + np.arange(int(many.sum()))
        stops = self._stop[self._matched.rows[members]]
        return Level(arriving, free, leaving[bound], instance, stops, first, piece, at.astype(np.int64))
