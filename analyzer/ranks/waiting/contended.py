"""Transfers that take longer beside others: two collectives at once share a link, and compute shares the device with them.

Held against each other are transfers of one group (of messages: pair of ranks), kind and size, so that no other link and no other
size comes in; of those the ones with and without a collective beside, both with compute beside or both without, and the other way
round. Waiting is no part of it: a transfer begins when the last member has come.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import numpy as np
import pandas as pd

from analyzer.ranks.alignment.matching import Matched
from analyzer.ranks.alignment.table import Table
from analyzer.ranks.slowed import Contended
from analyzer.ranks.waiting.arrivals import Arrivals
from analyzer.ranks.waiting.bandwidth import SLOW_RATIO, transfers
from analyzer.spans.arrays import BoolArray, FloatArray, Int64Array
from analyzer.spans.grouping import rows_by
from analyzer.spans.intervals import IntervalSet

_FEWEST = 3
# The share of a transfer from which on something runs beside it, and up to which nothing does; what lies between tells nothing.
_BESIDE, _ALONE = 0.5, 0.02
# The middle half of the transfers alone may differ by this much, or they tell nothing (as `analyzer.facts.communication.slowed`).
_MOST_SPREAD = 1.3
_LISTED = 5
_PLACE = ["group", "pair", "kind", "bytes"]
_AXES: tuple[tuple[Literal["collective", "compute"], str, str], ...] = (
    ("collective", "moving", "computing"),
    ("compute", "computing", "moving"),
)


def contended(table: Table, matched: Matched, found: Arrivals) -> tuple[Contended, ...]:
    """What is slowed down by what, the most costly first.

    Args:
        table: The rows.
        matched: Which belong together.
        found: Waiting and transfer of each.
    """
    frame = transfers(table, matched, found)
    if len(frame) < 2 * _FEWEST:
        return ()
    frame = frame.join(_beside(table, matched, found), on="instance")
    made = [one for kind, axis, other in _AXES for one in _compared(table, matched, frame, kind, axis, other)]
    return tuple(sorted(made, key=lambda one: -one.exposed_ns_per_step)[:_LISTED])


def _compared(
    table: Table, matched: Matched, frame: pd.DataFrame, kind: Literal["collective", "compute"], axis: str, other: str
) -> Iterator[Contended]:
    """Transfers with something beside against those without, where all else is alike."""
    keys = [*_PLACE, other]
    known = frame[(frame[axis].notna() & frame[other].notna()).to_numpy(dtype=bool)]
    for _, rows in known[_is_slowed(known, keys, axis)].groupby(keys, sort=False):
        beside = rows[axis].to_numpy(dtype=bool)
        slow, alone = rows[beside], rows["transfer_ns"].to_numpy(dtype=np.float64)[~beside]
        took, usual = slow["transfer_ns"].to_numpy(dtype=np.float64), float(np.median(alone))
        group = table.groups[int(rows["group"].iloc[0])]
        neighbour = int(np.bincount(slow["beside_group"].to_numpy()).argmax())
        yield Contended(
            group=group.name,
            ranks=group.ranks,
            kind=str(rows["kind"].iloc[0]),
            size_bytes=int(rows["bytes"].iloc[0]),
            beside=kind,
            other=table.groups[neighbour].name if kind == "collective" else None,
            slower=float(np.median(took) / usual),
            count=len(slow),
            alone=len(alone),
            exposed_ns_per_step=_lost(table, matched, slow["instance"].to_numpy(), took - usual),
        )


def _is_slowed(known: pd.DataFrame, keys: list[str], axis: str) -> BoolArray:
    """Which rows are of a place whose transfers take longer with something beside them than alone, shape (rows,)."""
    beside = known[axis].to_numpy(dtype=bool)
    if not beside.any() or beside.all():
        return np.zeros(len(known), dtype=bool)
    took = known["transfer_ns"].to_numpy(dtype=np.float64)
    place = np.asarray(known.groupby(keys, sort=False).ngroup(), dtype=np.int64)
    slowed = [number for number, rows in rows_by(place).items() if _are_slower(took[rows], beside[rows])]
    return np.asarray(np.isin(place, np.array(slowed, dtype=np.int64)), dtype=bool)


def _are_slower(took: FloatArray, beside: BoolArray) -> bool:
    """Whether transfers of one place take longer with something beside them than alone, and those alone are alike."""
    if min(beside.sum(), (~beside).sum()) < _FEWEST:
        return False
    low, usual, high = np.quantile(took[~beside], (0.25, 0.5, 0.75)).tolist()
    return bool(high <= _MOST_SPREAD * low and usual < SLOW_RATIO * np.median(took[beside]))


def _lost(table: Table, matched: Matched, instance: Int64Array, longer_ns: FloatArray) -> int:
    """What they take longer, as far as it is exposed, a step of the rank with the most."""
    longer = np.zeros(len(matched))
    longer[instance] = np.maximum(longer_ns, 0.0)
    rows = matched.rows
    each = np.minimum(longer[matched.instance], table.rows.exposed_ns[rows])
    steps = np.array([max(len(one.steps), 1) for one in table.summaries])
    of_rank = np.bincount(table.rows.member[rows], weights=each, minlength=len(steps)) / steps
    return int(of_rank.max(initial=0.0))


def _beside(table: Table, matched: Matched, found: Arrivals) -> pd.DataFrame:
    """Of each instance whether other data moves beside it, of which group, and whether its members compute.

    NA where neither can be said. A link is shared where one member's is; a device computes where all members' do.
    """
    at = matched.rows
    start = _axis(table)
    end = start + table.rows.dur_ns
    begin = np.minimum(end[at], np.maximum(start[at], end[at] - found.transfer_ns[matched.instance]))
    moves = _at_once(begin, end[at]).overlap_with(begin, end[at]) / np.maximum(end[at] - begin, 1)
    # Of what nobody knows when it moves data, and of what waits, only that it is there.
    there = _at_once(start, end).overlap_with(begin, end[at]) / np.maximum(end[at] - begin, 1)
    computing = table.rows.computing_ns[at] / np.maximum(table.rows.dur_ns[at], 1)
    first = matched.first
    most, seen = np.maximum.reduceat(moves, first), np.maximum.reduceat(there, first)
    least, highest = np.minimum.reduceat(computing, first), np.maximum.reduceat(computing, first)
    batched = np.logical_or.reduceat(table.rows.batched[at], first)
    return pd.DataFrame(
        {
            "moving": _said(most >= _BESIDE, (seen <= _ALONE) & ~batched),
            "computing": _said(least >= _BESIDE, highest <= _ALONE),
            "beside_group": _neighbours(table, matched, begin, end[at]),
        }
    )


def _said(beside: BoolArray, alone: BoolArray) -> pd.arrays.BooleanArray:
    return pd.arrays.BooleanArray(beside, ~(beside | alone))


def _axis(table: Table) -> Int64Array:
    """Start of each row, the ranks one behind the other: what runs at once in two of them does not meet."""
    rows = table.rows
    members = len(table.summaries)
    low, high = np.full(members, np.iinfo(np.int64).max), np.zeros(members, dtype=np.int64)
    np.minimum.at(low, rows.member, rows.start_ns)
    own = rows.start_ns - low[rows.member]
    np.maximum.at(high, rows.member, own + rows.dur_ns + 1)
    return np.asarray(own + (np.cumsum(high) - high)[rows.member], dtype=np.int64)


def _at_once(start: Int64Array, end: Int64Array) -> IntervalSet:
    """When two or more of some spans run."""
    time = np.concatenate([start, end])
    change = np.concatenate([np.ones(len(start), dtype=np.int64), np.full(len(end), -1, dtype=np.int64)])
    order = np.lexsort((change, time))
    deep = np.cumsum(change[order])[:-1] >= 2
    return IntervalSet(time[order][:-1][deep], time[order][1:][deep])


def _neighbours(table: Table, matched: Matched, begin: Int64Array, end: Int64Array) -> Int64Array:
    """Group of the transfer that is nearest before each instance on its first member's axis, shape (instances,)."""
    group = table.rows.group[matched.rows]
    order = np.argsort(begin, kind="stable")
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    mine = place[matched.first]
    before, after = order[np.maximum(mine - 1, 0)], order[np.minimum(mine + 1, len(order) - 1)]
    lead = matched.first

    def shared(other: Int64Array) -> Int64Array:
        both = np.minimum(end[other], end[lead]) - np.maximum(begin[other], begin[lead])
        return np.where(other == lead, 0, np.maximum(both, 0))

    return np.where(shared(before) > shared(after), group[before], group[after])
