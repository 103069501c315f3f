"""Clocks of the job's hosts, fitted to each other by the ends of collectives.

A collective of which every member waits for every other ends for all of them at nearly the same time; what ends differ by is what
clocks differ by, and noise. Per host an offset, and a drift where the recording is long enough to see one, are fitted by medians,
which a few odd ends do not move. The 95th percentile of what is left is stated as the error: no skew below it is claimed.
Ranks of one host share its clock: there single ends are late because a rank had no core, not because clocks differ. What could be
wrong is that one clock is not shared; so the error is what a rank's ends differ by always.
"""

from __future__ import annotations

import msgspec
import numpy as np
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import breadth_first_order, connected_components, minimum_spanning_tree

from analyzer.ranks.alignment.matching import Matched
from analyzer.ranks.alignment.table import Table
from analyzer.spans.arrays import BoolArray, FloatArray, Int64Array

_ROUNDS = 4
# Ends that a drift is fitted to: a third of them at each end of the recording.
_DRIFT_ENDS = 12
_ERROR_QUANTILE = 0.95
# Nineteen medians in twenty lie within two of their standard errors; of a normal distribution one is this much of a deviation.
_ERRORS = 2
_MEDIAN_ERROR = 1.2533
_DEVIATIONS = 1.4826
# A receiver that was there before its sender is in the message for longer than that by more than noise.
_LONGER_RATIO = 1.1


class Clocks(msgspec.Struct, frozen=True):
    """Clocks on which all ranks agree as far as `error_ns`.

    Args:
        aligned: Whether all hosts are linked by collectives, directly or through others.
        error_ns: 95th percentile of what ends of one collective still differ by; on one host the most that a rank's ends differ by
            always; None where there is nothing to compare.
        hosts: How many clocks there are: one per host, or per rank where the host is unknown.
        start_ns: Start of each row of the table on the common clock, shape (rows,).
    """

    aligned: bool
    error_ns: int | None
    hosts: int
    start_ns: FloatArray


def fit_clocks(table: Table, matched: Matched) -> Clocks:
    """Fits the clocks of all hosts."""
    host, hosts = hosts_of(table)
    rows = table.rows
    start = rows.start_ns.astype(np.float64)
    symmetric = table.symmetric[rows.kind[matched.rows]] if len(matched.rows) else np.zeros(0, dtype=bool)
    used = symmetric
    linked = _linked(host, hosts, rows.member, matched, used)
    if not linked or not used.any():
        # Messages, and what may be any kind, end together only about: they link hosts that nothing else links.
        used = _nearly_together(table, matched)
        linked = _linked(host, hosts, rows.member, matched, used)
    chosen = matched.rows[used]
    if not len(chosen):
        return Clocks(hosts == 1, None, hosts, start)
    _, instance = np.unique(matched.instance[used], return_inverse=True)
    at_host = host[rows.member[chosen]]
    end = (rows.start_ns[chosen] + rows.dur_ns[chosen]).astype(np.float64)
    # Drifts are fitted to what is left: minutes that clocks are apart would be part of each.
    apart_by = _along_tree(end, instance, at_host, hosts)
    end -= apart_by[at_host]
    offset, slope, centre = _fitted(end, instance, at_host, hosts)
    moved = end - offset[at_host] - slope[at_host] * (end - centre)
    apart = moved - _medians(moved, instance)[instance]
    error = int(np.quantile(np.abs(apart), _ERROR_QUANTILE))
    if hosts == 1:
        error = min(error, _always(apart, rows.member[chosen]))
    every = host[rows.member]
    start -= apart_by[every]
    return Clocks(linked, error, hosts, start - offset[every] - slope[every] * (start - centre))


def _always(apart: FloatArray, member: Int64Array) -> int:
    """The most that ends of one rank differ by from the others' always: their median, and what chance may hide of it."""
    _, place = np.unique(member, return_inverse=True)
    count = np.bincount(place)
    usual = _medians(apart, place)
    spread = _medians(np.abs(apart - usual[place]), place)
    return int((np.abs(usual) + _ERRORS * _MEDIAN_ERROR * _DEVIATIONS * spread / np.sqrt(count)).max())


def _nearly_together(table: Table, matched: Matched) -> BoolArray:
    """Rows that end nearly together, shape (matched,): all but some messages.

    Of those the receiver has to be there before the sender, and neither in a batch, whose other messages may last longer.
    """
    mine = matched.rows
    if not len(mine):
        return np.zeros(0, dtype=bool)
    sends = np.array([name == "send" for name in table.kinds], dtype=bool)[table.rows.kind[mine]]
    dur = table.rows.dur_ns[mine]
    sent = np.maximum.reduceat(np.where(sends, dur, 0), matched.first)
    alone = ~np.logical_or.reduceat(table.rows.batched[mine], matched.first)
    # One that comes when a buffer has the message already is in it for as long as its sender was, later.
    waited = np.maximum.reduceat(np.where(sends, 0, dur), matched.first) > _LONGER_RATIO * sent
    pairs = table.pairwise[table.rows.kind[mine]]
    return np.asarray(~pairs | (alone & waited)[matched.instance], dtype=bool)


def hosts_of(table: Table) -> tuple[Int64Array, int]:
    """Place of each rank's host, and how many there are; a rank whose host is unknown has a clock of its own."""
    names: dict[object, int] = {}
    places = [
        names.setdefault(one.host if one.host is not None else place, len(names))
        for place, one in enumerate(table.summaries)
    ]
    return np.array(places, dtype=np.int64), len(names)


def _linked(host: Int64Array, hosts: int, member: Int64Array, matched: Matched, used: np.ndarray) -> bool:
    if hosts < 2:
        return True
    rows = matched.rows[used]
    if not len(rows):
        return False
    at_host, instance = host[member[rows]], matched.instance[used]
    graph = coo_matrix((np.ones(len(rows)), (at_host, hosts + instance)), shape=(hosts + len(matched),) * 2)
    _, label = connected_components(graph, directed=False)
    return bool((label[:hosts] == label[0]).all())


def _medians(values: FloatArray, group: Int64Array) -> FloatArray:
    """Median of each group, shape (groups,); groups are numbered without holes."""
    order = np.lexsort((values, group))
    count = np.bincount(group)
    first = np.cumsum(count) - count
    ordered = values[order]
    found: FloatArray = (ordered[first + (count - 1) // 2] + ordered[first + count // 2]) / 2
    return found


def _fitted(
    end: FloatArray, instance: Int64Array, host: Int64Array, hosts: int
) -> tuple[FloatArray, FloatArray, float]:
    """Offset and slope of each host's clock, and the time at which the offset holds."""
    centre = float(np.median(end))
    slope = np.zeros(hosts)
    if hosts < 2:
        return np.zeros(hosts), slope, centre
    offset = np.zeros(hosts)
    seen, place = np.unique(host, return_inverse=True)
    for round_ in range(_ROUNDS):
        left = end - offset[host] - slope[host] * (end - centre)
        residual = left - _medians(left, instance)[instance]
        offset[seen] += _medians(residual, place)
        if round_ < _ROUNDS - 1:
            slope[seen] += _slopes(end, residual, place)
    # One clock has to stay as it is.
    return offset - offset[seen[0]], slope - slope[seen[0]], centre


def _along_tree(end: FloatArray, instance: Int64Array, host: Int64Array, hosts: int) -> FloatArray:
    """A first offset of each host: medians of differences along the tree of hosts that share the most collectives."""
    order = np.argsort(instance, kind="stable")
    first = np.unique(instance[order], return_index=True)[1]
    lead = order[first][instance]
    between = host[lead] != host
    pair = host[lead][between] * hosts + host[between]
    pairs, place, count = np.unique(pair, return_inverse=True, return_counts=True)
    offset = np.zeros(hosts)
    if not len(pairs):
        return offset
    differs = _medians((end - end[lead])[between], place)
    one, other = pairs // hosts, pairs % hosts
    known = {(a, b): d for a, b, d in zip(one.tolist(), other.tolist(), differs.tolist(), strict=True)}
    tree = minimum_spanning_tree(coo_matrix((1.0 / count, (one, other)), shape=(hosts, hosts)).tocsr())
    both = tree + tree.T
    done = np.zeros(hosts, dtype=bool)
    for root in range(hosts):
        if done[root]:
            continue
        nodes, parents = breadth_first_order(both, root, directed=False)
        done[nodes] = True
        for node in nodes[1:].tolist():
            parent = int(parents[node])
            step = known[parent, node] if (parent, node) in known else -known[node, parent]
            offset[node] = offset[parent] + step
    return offset


def _slopes(end: FloatArray, residual: FloatArray, place: Int64Array) -> FloatArray:
    """How fast each host's residual grows: between the medians of the first and the last third of its ends."""
    found = np.zeros(int(place.max()) + 1)
    order = np.lexsort((end, place))
    count = np.bincount(place)
    first = np.cumsum(count) - count
    for one in np.flatnonzero(count >= _DRIFT_ENDS).tolist():
        mine = order[first[one] : first[one] + count[one]]
        third = len(mine) // 3
        early, late = mine[:third], mine[-third:]
        span = float(np.median(end[late]) - np.median(end[early]))
        if span > 0:
            found[one] = float(np.median(residual[late]) - np.median(residual[early])) / span
    return found
