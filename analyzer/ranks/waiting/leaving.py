"""How much later than a collective is over each rank leaves it: threads of a host need a core to notice."""

from __future__ import annotations

import numpy as np

from analyzer.ranks.alignment.clocks import hosts_of
from analyzer.ranks.alignment.matching import Matched
from analyzer.ranks.alignment.table import Table
from analyzer.ranks.waiting.arrivals import Arrivals
from analyzer.spans.arrays import FloatArray


def leaves_later(table: Table, matched: Matched, found: Arrivals, start_ns: FloatArray) -> FloatArray:
    """How much later each stop's rank leaves it than its last member had come and the data was moved, shape (stops,).

    It is known where all members share a host and its clock, and nothing elsewhere: the ends of several hosts are what their clocks
    are fitted to. Of a batch it is nothing either: its kernel lasts until the last of its messages is through. Below 0 where the
    rank left earlier.

    Args:
        table: The rows.
        matched: Which belong together.
        found: Waiting and transfer of each.
        start_ns: Start of each row on the common clock, shape (rows,).
    """
    rows, instance, first = matched.rows, matched.instance, matched.first
    later = np.zeros(int(table.rows.stop.max(initial=-1)) + 1)
    if not len(rows):
        return later
    host, _ = hosts_of(table)
    at = host[table.rows.member[rows]]
    together = np.minimum.reduceat(at, first) == np.maximum.reduceat(at, first)
    batched = np.logical_or.reduceat(table.rows.batched[rows], first)
    over = np.maximum.reduceat(start_ns[rows], first) + found.transfer_ns
    mine = found.depends & (together & ~batched)[instance]
    ends = start_ns[rows] + table.rows.dur_ns[rows]
    later[table.rows.stop[rows[mine]]] = (ends - over[instance])[mine]
    return later
