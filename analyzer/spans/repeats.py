"""Short sequences that repeat many times in a row: the trace of a loop in the program.

Run lengths of every period at once: position i continues a run of period p where it equals position i + p. Vectorised, O(n) per
period; smaller periods first, so that a run is found with its shortest unit.
"""

from __future__ import annotations

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


def repeated_runs(
    codes: Int64Array, group: Int64Array, *, min_repeats: int, max_period: int = MAX_PERIOD
) -> pd.DataFrame:
    """Maximal runs of a repeated unit.

    Args:
        codes: What stands at each position, shape (n,).
        group: Runs never cross from one group to the next; equal for neighbours of one group, shape (n,).
        min_repeats: Repetitions from which a run counts.
        max_period: Longest unit.

    Returns:
        Columns first (position), period, repeats (whole units); runs hardly overlap, shorter periods win.
    """
    count, keys = len(codes), _keys(codes, group)
    taken = np.zeros(count + 1, dtype=np.int64)
    found: list[tuple[Int64Array, Int64Array, Int64Array]] = []
    # Of a longer unit there is no room for so many.
    for period in range(1, min(max_period, count // min_repeats, count - 1) + 1):
        first, repeats = _of_period(keys, period)
        long = repeats >= min_repeats
        first, repeats = first[long], repeats[long]
        if not len(first):
            continue
        # Positions already part of a run with a shorter unit: their multiples repeat as well, and say nothing new.
        before = np.concatenate([[0], np.cumsum(np.cumsum(taken)[:count] > 0)])
        new = before[first + repeats * period] - before[first] <= (repeats * period) // 2
        first, repeats = first[new], repeats[new]
        np.add.at(taken, first, 1)
        np.add.at(taken, first + repeats * period, -1)
        found.append((first, np.full(len(first), period), repeats))
    if not found:
        return pd.DataFrame(np.empty((0, 3), dtype=np.int64), columns=["first", "period", "repeats"])
    first, periods, repeats = (np.concatenate(parts) for parts in zip(*found, strict=True))
    order = np.argsort(first, kind="stable")
    return pd.DataFrame({"first": first[order], "period": periods[order], "repeats": repeats[order]})


def shorter_runs(codes: Int64Array, group: Int64Array, runs: pd.DataFrame, *, min_repeats: int) -> pd.DataFrame:
    """Runs too short to count by themselves, beside one of the same unit that counts: the last row of a loop over rows.

    Args:
        codes: What stands at each position, shape (n,).
        group: As of `repeated_runs`, shape (n,).
        runs: From `repeated_runs`.
        min_repeats: Repetitions from which a run counted there.

    Returns:
        Columns first, period, repeats; at least two repetitions, at most one unit away from the run that counts, in its group.
    """
    worth = (codes.astype(np.uint64) + np.uint64(1)) * np.uint64(_BASE)
    sums = np.concatenate([np.zeros(1, dtype=np.uint64), np.cumsum(worth * (worth >> np.uint64(29)))])
    begin, beyond = runs["first"].to_numpy(), (runs["first"] + runs["repeats"] * runs["period"]).to_numpy()
    edges = np.zeros(len(codes) + 1, dtype=np.int64)
    np.add.at(edges, begin, 1)
    np.add.at(edges, beyond, -1)
    taken = np.concatenate([[0], np.cumsum(np.cumsum(edges)[:-1] > 0)])
    found, keys = [runs.iloc[:0]], _keys(codes, group)
    for period in runs["period"].unique().tolist():
        known = (runs["period"] == period).to_numpy()
        first, repeats = _of_period(keys, period)
        short = (repeats > 1) & (repeats < min_repeats)
        first, repeats = first[short], repeats[short]
        end = first + repeats * period
        after = np.searchsorted(beyond[known], first, side="right") - 1
        before = np.minimum(np.searchsorted(begin[known], end), int(known.sum()) - 1)
        near = np.zeros(len(first), dtype=bool)
        for place, gap in ((after, first - beyond[known][after]), (before, begin[known][before] - end)):
            other = begin[known][place]
            alike = sums[other + period] - sums[other] == sums[first + period] - sums[first]
            near |= (place >= 0) & (gap >= 0) & (gap <= period) & alike & (group[other] == group[first])
        near &= taken[end] == taken[first]
        found.append(pd.DataFrame({"first": first[near], "period": period, "repeats": repeats[near]}))
    return pd.concat(found, ignore_index=True).astype(np.int64)


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


def varying_runs(codes: Int64Array, group: Int64Array, begins: BoolArray, *, min_repeats: int) -> pd.DataFrame:
    """Runs of turns that begin with the same op and are not all alike: a loop with a branch in it.

    A turn reaches from one beginning to the next. It is a run where turns follow one another at no more than 16 ops and
    come in few kinds: an `if` gives two, chance gives many.

    Args:
        codes: What stands at each position, shape (n,).
        group: Runs never cross from one group to the next, shape (n,).
        begins: Where a turn may begin, shape (n,).
        min_repeats: Turns from which a run counts.

    Returns:
        Columns first (position), length (positions), repeats (turns), shown (position of a turn of the commonest kind), period (its
        length). The last turn of a run has no end and is left out.
    """
    at = np.flatnonzero(begins)
    size = np.diff(at)
    turn = (size <= _MAX_TURN) & (group[at[1:]] == group[at[:-1]]) if len(at) else np.empty(0, dtype=bool)
    first = at[:-1][turn] if len(at) else at
    if not len(first):
        return pd.DataFrame(np.empty((0, 5), dtype=np.int64), columns=["first", "length", "repeats", "shown", "period"])
    run = np.cumsum(np.concatenate([[True], first[1:] != first[:-1] + size[turn][:-1]]))
    turns = pd.DataFrame({"run": run, "at": first, "size": size[turn], "kind": _hashes(codes, first, size[turn])})
    kinds = turns.groupby(["run", "kind"], sort=False).agg(
        times=("at", "size"), shown=("at", "first"), period=("size", "first")
    )
    commonest = kinds.sort_values("times", kind="stable").groupby("run").last()
    runs = turns.groupby("run").agg(first=("at", "first"), length=("size", "sum"), repeats=("at", "size"))
    runs = runs.assign(kinds=kinds.groupby("run").size(), shown=commonest["shown"], period=commonest["period"])
    found = runs[(runs["repeats"] >= min_repeats) & (runs["kinds"] * _TURNS_OF_A_KIND <= runs["repeats"])]
    return found.drop(columns="kinds").astype(np.int64).reset_index(drop=True)


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
