"""Short sequences that repeat many times in a row: the trace of a loop in the program.

Run lengths of every period at once: position i continues a run of period p where it equals position i + p. Vectorised, O(n) per
period; smaller periods first, so that a run is found with its shortest unit.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np
import numpy.typing as npt
import pandas as pd

from analyzer.spans.arrays import BoolArray, Int64Array
from analyzer.spans.grouping import numbered

# Longest unit looked for, in ops: enough for the body of a loss written by hand, such as the overlap of two boxes by coordinates.
MAX_PERIOD = 48
# Longest turn of a loop with branches, in ops: what stands between two beginnings of a longer one is as well other work.
_MAX_TURN = 16
# Turns of a loop with branches there are to each kind of turn, at least: an `if` makes two kinds of many turns.
_TURNS_OF_A_KIND = 4
# Numbers of 32 bits.
_SMALL = 1 << 31
# Odd numbers without pattern: equal numbers of different stretches are as good as impossible.
_BASE = 0x9E3779B97F4A7C15
_SPREAD = 0xBF58476D1CE4E5B9


class Runs(msgspec.Struct, frozen=True, eq=False):
    """Sequences that repeat, one element each; arrays, for a frame of a few runs costs more than to find them.

    Args:
        first: Position of its beginning.
        length: How many positions it has.
        repeats: How often its unit is in it.
        shown: Position of a unit; of the commonest kind, where they differ.
        period: Length of that unit.
        varies: Whether units differ.
    """

    first: Int64Array
    length: Int64Array
    repeats: Int64Array
    shown: Int64Array
    period: Int64Array
    varies: BoolArray

    def __len__(self) -> int:
        return len(self.first)

    @property
    def end(self) -> Int64Array:
        """Position behind its last one."""
        return self.first + self.length

    def unit(self, codes: Int64Array, place: int) -> tuple[int, ...]:
        """What stands in the unit of the one at a place, in the order in which it has it."""
        shown = self.shown[place]
        return tuple(codes[shown : shown + self.period[place]].tolist())

    def cover(self, count: int) -> BoolArray:
        """Which of so many positions are part of one, shape (count,)."""
        edges = np.zeros(count + 1, dtype=np.int64)
        np.add.at(edges, self.first, 1)
        np.add.at(edges, self.end, -1)
        covered: BoolArray = np.cumsum(edges)[:-1] > 0
        return covered

    @classmethod
    def alike(cls, first: Int64Array, period: Int64Array, repeats: Int64Array) -> Runs:
        """Runs of units that are all the same."""
        return cls(first, period * repeats, repeats, first, period, np.zeros(len(first), dtype=np.bool_))

    @classmethod
    def joined(cls, parts: Sequence[Runs]) -> Runs:
        """The runs of all parts."""
        return cls(*(np.concatenate([getattr(part, name) for part in parts]) for name in cls.__struct_fields__))

    def at(self, places: BoolArray | Int64Array) -> Runs:
        """Those in a mask, or at some places."""
        return Runs(*(getattr(self, name)[places] for name in self.__struct_fields__))


_NOTHING: Int64Array = np.empty(0, dtype=np.int64)
_NO_RUNS = Runs.alike(_NOTHING, _NOTHING, _NOTHING)


def repeated_runs(codes: Int64Array, group: Int64Array, *, min_repeats: int, max_period: int = MAX_PERIOD) -> Runs:
    """Maximal runs of a repeated unit.

    Args:
        codes: What stands at each position, shape (n,).
        group: Runs never cross from one group to the next; equal for neighbours of one group, shape (n,).
        min_repeats: Repetitions from which a run counts.
        max_period: Longest unit.

    Returns:
        In order, with whole units; runs hardly overlap, shorter periods win.
    """
    count, keys = len(codes), _keys(codes, group)
    taken = np.zeros(count + 1, dtype=np.int64)
    # How many positions before each are part of a run with a shorter unit: their multiples repeat as well, and say nothing new.
    before = taken
    found: list[tuple[Int64Array, Int64Array, Int64Array]] = []
    # Of a longer unit there is no room for so many.
    for period in range(1, min(max_period, count // min_repeats, count - 1) + 1):
        first, repeats = _of_period(keys, period)
        long = repeats >= min_repeats
        first, repeats = first[long], repeats[long]
        if not len(first):
            continue
        new = before[first + repeats * period] - before[first] <= (repeats * period) // 2
        first, repeats = first[new], repeats[new]
        if not len(first):
            continue
        np.add.at(taken, first, 1)
        np.add.at(taken, first + repeats * period, -1)
        before = np.append(0, np.cumsum(np.cumsum(taken)[:count] > 0))
        found.append((first, np.full(len(first), period), repeats))
    if not found:
        return _NO_RUNS
    first, periods, repeats = (np.concatenate(parts) for parts in zip(*found, strict=True))
    order = np.argsort(first, kind="stable")
    return Runs.alike(first[order], periods[order], repeats[order])


def shorter_runs(codes: Int64Array, group: Int64Array, runs: Runs, *, min_repeats: int) -> Runs:
    """Runs too short to count by themselves, beside one of the same unit that counts: the last row of a loop over rows.

    Args:
        codes: What stands at each position, shape (n,).
        group: As of `repeated_runs`, shape (n,).
        runs: From `repeated_runs`.
        min_repeats: Repetitions from which a run counted there.

    Returns:
        Of at least two repetitions, at most one unit away from the run that counts, in its group.
    """
    worth = (codes.astype(np.uint64) + np.uint64(1)) * np.uint64(_BASE)
    sums = np.concatenate([np.zeros(1, dtype=np.uint64), np.cumsum(worth * (worth >> np.uint64(29)))])
    taken = np.concatenate([[0], np.cumsum(runs.cover(len(codes)))])
    found, keys = [_NO_RUNS], _keys(codes, group)
    for period in dict.fromkeys(runs.period.tolist()):
        known = runs.at(runs.period == period)
        begin, beyond = known.first, known.end
        first, repeats = _of_period(keys, period)
        short = (repeats > 1) & (repeats < min_repeats)
        first, repeats = first[short], repeats[short]
        end = first + repeats * period
        after = np.searchsorted(beyond, first, side="right") - 1
        before = np.minimum(np.searchsorted(begin, end), len(known) - 1)
        near = np.zeros(len(first), dtype=bool)
        for place, gap in ((after, first - beyond[after]), (before, begin[before] - end)):
            other = begin[place]
            alike = sums[other + period] - sums[other] == sums[first + period] - sums[first]
            near |= (place >= 0) & (gap >= 0) & (gap <= period) & alike & (group[other] == group[first])
        near &= taken[end] == taken[first]
        found.append(Runs.alike(first[near], np.full(np.count_nonzero(near), period), repeats[near]))
    return Runs.joined(found)


def _keys(codes: Int64Array, group: Int64Array) -> Int64Array | npt.NDArray[np.int32]:
    """One number for what stands at each position and its group, compared once for each period; shape (n,)."""
    (what, kinds), (where, groups) = numbered(codes), numbered(group)
    keys = where * kinds + what
    return keys.astype(np.int32) if kinds * groups < _SMALL else keys


def _of_period(keys: Int64Array | npt.NDArray[np.int32], period: int) -> tuple[Int64Array, Int64Array]:
    """Where each stretch that repeats at a period begins, and its whole repetitions."""
    same = np.zeros(len(keys) - period + 2, dtype=bool)
    np.equal(keys[period:], keys[:-period], out=same[1:-1])
    edges = np.flatnonzero(same[1:] != same[:-1])
    first, last = edges[::2], edges[1::2]
    return first, (last - first + period) // period


def varying_runs(codes: Int64Array, group: Int64Array, begins: BoolArray, *, min_repeats: int) -> Runs:
    """Runs of turns that begin with the same op and are not all alike: a loop with a branch in it.

    A turn reaches from one beginning to the next. It is a run where turns follow one another at no more than 16 ops and
    come in few kinds: an `if` gives two, chance gives many.

    Args:
        codes: What stands at each position, shape (n,).
        group: Runs never cross from one group to the next, shape (n,).
        begins: Where a turn may begin, shape (n,).
        min_repeats: Turns from which a run counts.

    Returns:
        With turns as units. The last turn of a run has no end and is left out.
    """
    at = np.flatnonzero(begins)
    size = np.diff(at)
    turn = (size <= _MAX_TURN) & (group[at[1:]] == group[at[:-1]]) if len(at) else np.empty(0, dtype=bool)
    first = at[:-1][turn] if len(at) else at
    if not len(first):
        return _NO_RUNS
    run = np.cumsum(np.concatenate([[True], first[1:] != first[:-1] + size[turn][:-1]]))
    turns = pd.DataFrame({"run": run, "at": first, "size": size[turn], "kind": _hashes(codes, first, size[turn])})
    kinds = turns.groupby(["run", "kind"], sort=False).agg(
        times=("at", "size"), shown=("at", "first"), period=("size", "first")
    )
    commonest = kinds.sort_values("times", kind="stable").groupby("run").last()
    runs = turns.groupby("run").agg(first=("at", "first"), length=("size", "sum"), repeats=("at", "size"))
    runs = runs.assign(kinds=kinds.groupby("run").size(), shown=commonest["shown"], period=commonest["period"])
    found = runs[(runs["repeats"] >= min_repeats) & (runs["kinds"] * _TURNS_OF_A_KIND <= runs["repeats"])]
    begin, length, repeats, shown, period = (
        found[name].to_numpy(dtype=np.int64) for name in ("first", "length", "repeats", "shown", "period")
    )
    return Runs(begin, length, repeats, shown, period, np.ones(len(found), dtype=np.bool_))


def _hashes(codes: Int64Array, first: Int64Array, size: Int64Array) -> npt.NDArray[np.uint64]:
    """A number for what stands in each stretch, equal for equal ones: a polynomial of the codes, modulo 2 to the 64."""
    powers = np.full(_MAX_TURN, _BASE, dtype=np.uint64)
    powers[0] = 1
    powers = np.multiply.accumulate(powers)
    total = size.astype(np.uint64)
    padded = np.concatenate([codes, np.zeros(_MAX_TURN, dtype=np.int64)]).astype(np.uint64) + np.uint64(1)
    for offset in range(_MAX_TURN):
        inside = size > offset
        total[inside] += padded[first[inside] + offset] * powers[offset] * np.uint64(_SPREAD)
    return total


def canonical(unit: tuple[int, ...]) -> tuple[int, ...]:
    """The same unit whichever of its ops a run happens to begin with."""
    return min(unit[index:] + unit[:index] for index in range(len(unit)))
