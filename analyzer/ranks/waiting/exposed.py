"""How much of the time in collectives that nothing hides is waiting: what the late end of a bucket shows, whatever its length.

A rank waits first, and then data is moved. Where compute runs beside a collective a summary does not say which part of it that
hides, so that two bounds are all there is: what is exposed beyond the transfer has to be waiting, and no more than is waited is.
"""

from __future__ import annotations

import msgspec
import numpy as np

from analyzer.ranks.alignment.borne_out import lacking
from analyzer.ranks.alignment.matching import Matched
from analyzer.ranks.alignment.table import Table
from analyzer.ranks.waiting.arrivals import Arrivals
from analyzer.spans.arrays import Int64Array


class Exposed(msgspec.Struct, frozen=True):
    """Exposed time in collectives of each rank, all steps together, shape (ranks,).

    Args:
        whole_ns: All of it.
        least_ns: What of it is waiting at least.
        most_ns: What of it is waiting at most: what could not be matched may be, and what lacks members may be waiting for those.
        by_step_ns: `least_ns` by the step that it is in, shape (ranks, steps).
    """

    whole_ns: Int64Array
    least_ns: Int64Array
    most_ns: Int64Array
    by_step_ns: Int64Array


def exposed_waiting(table: Table, matched: Matched, found: Arrivals, numbers: Int64Array) -> Exposed:
    """Splits what nothing hides.

    Args:
        table: The rows.
        matched: Which belong together.
        found: Waiting and transfer of each.
        numbers: The steps' numbers, sorted, shape (steps,).
    """
    rows, many = table.rows, len(table.summaries)
    waiting = np.zeros(len(rows), dtype=np.int64)
    known = np.zeros(len(rows), dtype=bool)
    if len(matched):
        waiting[matched.rows] = found.waiting_ns
        known[matched.rows] = (found.waits & ~lacking(table, matched))[matched.instance]
    lead = np.flatnonzero(rows.leads)
    member = rows.member[lead]
    # The messages of a batch are one kernel, and one row of them has all its waiting.
    waits = np.add.reduceat(waiting, lead) if len(lead) else waiting
    told = np.logical_and.reduceat(known, lead) if len(lead) else known
    bare = np.add.reduceat(rows.exposed_ns, lead) if len(lead) else rows.exposed_ns
    most = np.minimum(bare, waits)
    least = np.minimum(np.maximum(bare - (rows.dur_ns[lead] - waits), 0), most)
    by_step = np.zeros((many, len(numbers)), dtype=np.int64)
    np.add.at(by_step, (member, np.searchsorted(numbers, rows.step[lead])), least)
    return Exposed(
        whole_ns=_sum(member, bare, many),
        least_ns=_sum(member, least, many),
        by_step_ns=by_step,
        most_ns=_sum(member, np.where(told, most, bare), many),
    )


def _sum(member: Int64Array, values: Int64Array, many: int) -> Int64Array:
    return np.bincount(member, weights=values, minlength=many).astype(np.int64)
