"""Who waits for whom: each collective split into waiting for the last member and moving the data.

All members leave a collective together, so the one that was in it for the shortest time came last: the rest of the others' time is
waiting, and no clock has to be compared across hosts. Of a message the receiver waits; a sender that need not wait is done at once.
"""

from __future__ import annotations

import msgspec
import numpy as np

from analyzer.ranks.matching import Matched
from analyzer.ranks.table import Table
from analyzer.spans.arrays import BoolArray, Int64Array


class Arrivals(msgspec.Struct, frozen=True):
    """Waiting and transfer.

    Args:
        waits: Which instances one waits in, shape (instances,): not broadcasts and their kin, whose members come and go.
        complete: Which have every member of their group present, shape (instances,): only there is the transfer known.
        transfer_ns: From the arrival of the last member on, shape (instances,).
        last: Row of the member that came last, shape (instances,).
        waiting_ns: What each row of `Matched.rows` waits, shape (matched,); 0 below the error.
    """

    waits: BoolArray
    complete: BoolArray
    transfer_ns: Int64Array
    last: Int64Array
    waiting_ns: Int64Array


def arrivals(table: Table, matched: Matched, error_ns: int) -> Arrivals:
    """Splits every instance.

    Args:
        table: The rows.
        matched: Which belong together.
        error_ns: Below this nothing is claimed to be waiting.
    """
    rows, mine = table.rows, matched.rows
    if not len(mine):
        nothing = np.zeros(0, dtype=np.int64)
        return Arrivals(nothing.astype(bool), nothing.astype(bool), nothing, nothing, nothing)
    dur = rows.dur_ns[mine]
    order = np.lexsort((dur, matched.instance))
    last = mine[order[matched.first]]
    transfer = dur[order[matched.first]]
    kind = rows.kind[last]
    waits = table.symmetric[kind] | table.pairwise[kind]
    waiting = np.where(waits[matched.instance], dur - transfer[matched.instance], 0)
    waiting[waiting <= error_ns] = 0
    sends = np.array([name == "send" for name in table.kinds], dtype=bool)
    waiting[sends[rows.kind[mine]]] = 0
    sizes = np.array([group.size or len(group.ranks) for group in table.groups] or [0], dtype=np.int64)
    expected = np.where(table.pairwise[kind], 2, sizes[rows.group[last]])
    return Arrivals(waits, (expected > 0) & (matched.size >= expected), transfer, last, waiting)
