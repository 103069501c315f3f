"""What a rank does beyond its peers: ranks that run the same program, held against each other piece by piece.

Peers have the same sequence of collectives in a step and stand in the same pipeline stage. What a rank spends between two
collectives is compared with the median of what its peers spend there, itself left out: noise then neither adds up nor favours
anybody.
"""

from __future__ import annotations

import msgspec
import numpy as np
import pandas as pd

from analyzer.ranks.alignment.table import Table
from analyzer.spans.arrays import BoolArray, FloatArray, Int64Array


class Peers(msgspec.Struct, frozen=True):
    """Each rank beside its peers.

    Args:
        ideal_ns: What peers do in front of each row, in the median, shape (rows,); as recorded where a rank has none.
        ideal_tail_ns: What peers do behind their last collective, in the median, shape (ranks,); as recorded where a rank has none.
        shared_ns: What a rank and its peers do in front of each row, in the mean: the same work, shared evenly, shape (rows,).
        known: Which rows have peers, shape (rows,).
        label: A number that ranks share which are peers, shape (ranks,).
        steps: Numbers of the steps, sorted.
        excess_ns: What each rank does beyond its peers in each step, shape (ranks, steps); NaN where it has none.
    """

    ideal_ns: FloatArray
    ideal_tail_ns: FloatArray
    shared_ns: FloatArray
    known: BoolArray
    label: Int64Array
    steps: tuple[int, ...]
    excess_ns: FloatArray


def hold_against_peers(table: Table, stage: Int64Array) -> Peers:
    """Holds every rank against its peers.

    Args:
        table: The rows.
        stage: Pipeline stage of each rank, 0 without a pipeline, shape (ranks,).
    """
    rows = table.rows
    frame = pd.DataFrame({"member": rows.member, "step": rows.step, "what": _what(table, stage)})
    spot = np.asarray(frame.groupby(["member", "step"], sort=False).cumcount(), dtype=np.int64)
    label = _labels(frame, spot)
    own = rows.own_ns.astype(np.float64)
    ideal, known = _median_of_others(own, label, spot, len(rows))
    steps = np.unique(rows.step)
    excess = np.full((len(table.summaries), len(steps)), np.nan)
    mine = np.flatnonzero(known)
    place = np.searchsorted(steps, rows.step[mine])
    np.nan_to_num(excess, copy=False, nan=0.0)
    np.add.at(excess, (rows.member[mine], place), own[mine] - ideal[mine])
    seen = np.zeros(excess.shape, dtype=bool)
    seen[rows.member[mine], place] = True
    excess[~seen] = np.nan
    alike = _alike(label, rows.member, np.searchsorted(steps, rows.step), seen)
    once = np.zeros(len(alike), dtype=np.int64)
    tail, _ = _median_of_others(table.tail_ns.astype(np.float64), alike, once, len(alike))
    return Peers(ideal, tail, _mean(own, label, spot), known, alike, tuple(steps.tolist()), excess)


def _alike(label: Int64Array, member: Int64Array, place: Int64Array, seen: BoolArray) -> Int64Array:
    """A number for each rank that it shares with its peers, in the step in which most ranks have some; shape (ranks,).

    Of its first recorded step a rank may lack what was launched before.

    Args:
        label: Of each row, which ranks share that are peers in its step, shape (rows,).
        member: The rank of each row, shape (rows,).
        place: Place of each row's step among the steps, shape (rows,).
        seen: In which steps a rank has peers, shape (ranks, steps).
    """
    # A rank without rows in that step is nobody's peer.
    found = -1 - np.arange(len(seen), dtype=np.int64)
    if len(label):
        best = np.flatnonzero(place == int(seen.sum(axis=0).argmax()))
        found[member[best]] = label[best]
    return found


def _what(table: Table, stage: Int64Array) -> Int64Array:
    """What must be equal for ranks to run the same program: kind, and size of the group, in each stage."""
    rows = table.rows
    if not len(rows):
        return np.zeros(0, dtype=np.int64)
    sizes = np.array([group.size or len(group.ranks) for group in table.groups], dtype=np.int64)
    return ((rows.kind * 1_000_003 + sizes[rows.group]) * 1_000_003 + stage[rows.member]) & (2**62 - 1)


def _labels(frame: pd.DataFrame, spot: Int64Array) -> Int64Array:
    """A number for each row that ranks share in a step if they have the same sequence of collectives in it."""
    if not len(frame):
        return np.zeros(0, dtype=np.int64)
    # Wraps around at 64 bits, as a hash may.
    mixed = frame["what"].to_numpy().astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(29))) * (2 * spot.astype(np.uint64) + np.uint64(1))
    frame = frame.assign(mixed=mixed)
    keys = ["member", "step"]
    sums = frame.groupby(keys, sort=False)["mixed"].transform("sum")
    counts = frame.groupby(keys, sort=False)["mixed"].transform("size")
    together = pd.DataFrame({"sum": sums, "count": counts, "step": frame["step"]})
    return np.asarray(
        together.groupby(["sum", "count", "step"], sort=False).ngroup().to_numpy(dtype=np.int64), dtype=np.int64
    )


def _mean(own: FloatArray, label: Int64Array, spot: Int64Array) -> FloatArray:
    """For each row the mean of it and of the rows beside it in other ranks."""
    if not len(own):
        return own
    _, group = np.unique(label * (int(spot.max()) + 1) + spot, return_inverse=True)
    found: FloatArray = (np.bincount(group, weights=own) / np.bincount(group))[group]
    return found


def _median_of_others(own: FloatArray, label: Int64Array, spot: Int64Array, rows: int) -> tuple[FloatArray, BoolArray]:
    """For each row the median of the rows beside it in other ranks, and whether there are any."""
    if not rows:
        return own.copy(), np.zeros(0, dtype=bool)
    group = label * (int(spot.max()) + 1) + spot
    order = np.lexsort((own, group))
    ordered, values = group[order], own[order]
    begins = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1]))
    count = np.diff(np.append(begins, rows))
    first = np.repeat(begins, count)
    n = np.repeat(count, count) - 1
    rank = np.arange(rows) - first

    def without(place: Int64Array) -> FloatArray:
        """The value at a place among the others."""
        at = first + np.where(place < rank, place, np.minimum(place + 1, n))
        found: FloatArray = values[at]
        return found

    median = (without(np.maximum((n - 1) // 2, 0)) + without(n // 2)) / 2
    ideal = np.empty(rows)
    ideal[order] = np.where(n > 0, median, values)
    known = np.empty(rows, dtype=bool)
    known[order] = n > 0
    return ideal, known
