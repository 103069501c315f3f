"""The job played again with something made ideal: what a step would take then.

Method: ByteDance, "What-if analysis of stragglers" (OSDI'25). Every rank goes through its own work and its collectives in the order
it did. A collective ends for all when the last member has arrived and the data is moved, a batch of messages when the last of them
is through; ranks of one host, whose clock says by how much, leave it one after another as they did. Of the time in it, the rank's
compute hides as much as it hid in the recording. One that the rank began beside another is not held back by that, but one on the
same stream: those run one after another, so that none begins before the last is over.
Ranks meet level by level: first all arrive at what is next for them, then those leave whose others are there.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
import numpy as np

from analyzer.ranks.alignment.matching import Matched
from analyzer.ranks.alignment.table import Table
from analyzer.ranks.waiting.arrivals import Arrivals
from analyzer.ranks.waiting.leaving import leaves_later
from analyzer.ranks.waiting.stopping import Stopping, stopping
from analyzer.spans.arrays import BoolArray, FloatArray, Int64Array


class Level(msgspec.Struct, frozen=True):
    """What can be played at once: a stop is a collective, or a batch of messages, of one rank.

    Args:
        arriving: Stops that their ranks come to.
        over: Instances whose members have all come, each once.
        stops: Stops of each instance's members, by instance.
        first: Where each instance begins in `stops`.
        lasts: Which of `stops` last until the others have come, shape (stops,).
        free: Stops that their ranks leave whoever else is there.
        leaving: Stops that their ranks leave when those that they wait for have come.
    """

    arriving: Int64Array
    over: Int64Array
    stops: Int64Array
    first: Int64Array
    lasts: BoolArray
    free: Int64Array
    leaving: Int64Array


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
        ready, dur = rows.ready_ns[self._lead], rows.dur_ns[self._lead]
        lasts = rows.start_ns[self._lead] + dur - ready
        self._turns = stopping(self._member, ready, lasts, self._of_stops(self.own_ns), exposed)
        self._exposed = np.maximum(exposed - self._turns.hidden_ns, 0.0)
        self._lasts = lasts.astype(np.float64)
        self._spare = self._spared()
        self.transfer_ns = found.transfer_ns.astype(np.float64)
        self._dur = dur.astype(np.float64)
        self._message = self._messages(len(rows), matched)
        self._later = leaves_later(table, matched, found, start_ns)
        self._begin = _begins(table, start_ns, self.own_ns)
        self._before = _before(self._member, rows.stream[self._lead])
        self._levels = _Order(table, matched, found, self._turns, self._before).levels()
        self.as_recorded_ns = self.step_ns(self.own_ns, self.transfer_ns)

    def _spared(self) -> FloatArray:
        """What each stop's rank could still do when it went on, before that stop was over, shape (stops,)."""
        turns, leaves = self._turns.turns, self._turns.leaves
        own = self._of_stops(self.own_ns) + self._turns.besides_ns
        at = np.cumsum(np.where(leaves, self._exposed[turns], own[turns]))
        came, went = np.empty(len(own)), np.empty(len(own))
        came[turns[~leaves]], went[turns[leaves]] = at[~leaves], at[leaves]
        spare: FloatArray = np.maximum(came + self._lasts - went, 0.0)
        return spare

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
        return np.where(faster == 1.0, self._exposed, np.maximum(self._exposed - self._dur * (1.0 - faster), 0.0))

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
        # The last place is that of the stop before a stream's first.
        ended = np.full(len(self._lead) + 1, -np.inf)
        left = self._left(transfer_ns)
        for level in self._levels:
            coming = level.arriving
            at[self._member[coming]] += own[coming]
            arrived[coming] = at[self._member[coming]]
            if len(level.over):
                begins = np.maximum(arrived[level.stops], ended[self._before[level.stops]])
                end = np.maximum.reduceat(begins, level.first) + transfer_ns[level.over]
                many = np.diff(np.append(level.first, len(level.stops)))
                lasts = level.stops[level.lasts]
                np.maximum.at(ended, lasts, np.repeat(end, many)[level.lasts] + self._later[lasts])
            at[self._member[level.free]] += left[level.free]
            leaving = level.leaving
            member, over = self._member[leaving], ended[leaving]
            # What nothing of it held up is waited for where it takes longer than it did.
            holds = (self._exposed[leaving] > 0) | (over - arrived[leaving] > self._lasts[leaving])
            at[member] = np.where(holds, np.maximum(at[member], over - self._spare[leaving]), at[member])
        finished = at + (self._tail if tail_ns is None else tail_ns)
        return float(finished.max() - self._begin.min()) / max(self._steps, 1)


def _begins(table: Table, start_ns: FloatArray, own_ns: FloatArray) -> FloatArray:
    """When each rank begins: what it did before its first collective reaches back from there."""
    rows = table.rows
    begin = np.zeros(len(table.summaries))
    members, first = np.unique(rows.member, return_index=True)
    queued = rows.start_ns[first] - rows.ready_ns[first]
    begin[members] = start_ns[first] - queued - own_ns[first]
    if len(members):
        begin[np.setdiff1d(np.arange(len(begin)), members)] = begin[members].min()
    return begin


def _before(member: Int64Array, stream: Int64Array) -> Int64Array:
    """The stop in front of each on the same stream of its rank; the number of all stops where there is none, shape (stops,)."""
    before = np.full(len(member), len(member), dtype=np.int64)
    order = np.lexsort((stream, member))
    same = (np.diff(member[order]) == 0) & (np.diff(stream[order]) == 0)
    before[order[1:][same]] = order[:-1][same]
    return before


class _Order:
    """In which order stops can be played: every one exactly once, each rank's in its order."""

    def __init__(self, table: Table, matched: Matched, found: Arrivals, turns: Stopping, before: Int64Array) -> None:
        rows = table.rows
        self._turns = turns
        self._before = before
        self._here = np.zeros(len(before) + 1, dtype=bool)
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
            over = self._come(coming)
            head[comes] += 1
            ranks = going[leaves[head[going]] & (head[going] < self._end[going])]
            waiting = stops[head[ranks]]
            held = self._held(waiting)
            if len(held) and held.all() and not len(coming):
                # Orders contradict one another across groups: the earliest goes first, without waiting.
                earliest = int(np.argmin(self._start_ns[self._first[waiting]]))
                self._forget(int(waiting[earliest]))
                held[earliest] = False
            levels += self._played(coming, over, waiting[~held])
            head[ranks[~held]] += 1

    def _rows(self, stops: Int64Array) -> tuple[Int64Array, Int64Array]:
        """The rows of some stops, and the place of each row's stop among them."""
        many = self._first[stops + 1] - self._first[stops]
        place = np.repeat(np.arange(len(stops)), many)
        offset = np.arange(len(place)) - np.repeat(np.cumsum(many) - many, many)
        return self._first[stops][place] + offset, place

    def _come(self, stops: Int64Array) -> Int64Array:
        """Counts who comes; the instances that nobody is missing in any more."""
        rows, _ = self._rows(stops)
        instance = self._instance[rows]
        mine = instance[instance >= 0]
        np.subtract.at(self._missing, mine, 1)
        whole = np.unique(mine)
        complete: Int64Array = whole[self._missing[whole] == 0]
        return complete

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

    def _played(self, arriving: Int64Array, over: Int64Array, leaving: Int64Array) -> Iterator[Level]:
        """The levels of one turn: an instance comes behind those that its members' streams have in front of it."""
        none = np.zeros(0, dtype=np.int64)
        rows, place = self._rows(leaving)
        waits = self._depends[rows] & (self._instance[rows] >= 0)
        bound = np.unique(place[waits])
        free = np.setdiff1d(leaving, leaving[bound])
        while True:
            stops, first = self._members(over)
            self._here[stops] = True
            later = self._here[self._before[stops]]
            self._here[stops] = False
            held = np.logical_or.reduceat(later, first) if len(over) else later
            now = over if held.all() else over[~held]
            over = np.setdiff1d(over, now)
            stops, first = self._members(now)
            lasts = self._depends[self._member_rows(now)]
            if not len(over):
                yield Level(arriving, now, stops, first, lasts, free, leaving[bound])
                return
            yield Level(arriving, now, stops, first, lasts, none, none)
            arriving = none

    def _member_rows(self, instances: Int64Array) -> Int64Array:
        many = self._matched.size[instances]
        first = np.cumsum(many) - many
        at = np.repeat(self._matched.first[instances] - first, many) + np.arange(int(many.sum()))
        rows: Int64Array = self._matched.rows[at]
        return rows

    def _members(self, instances: Int64Array) -> tuple[Int64Array, Int64Array]:
        """The stops of some instances' members, and where each instance begins among them."""
        many = self._matched.size[instances]
        return self._stop[self._member_rows(instances)], np.cumsum(many) - many
