"""Who waits for whom: each collective split into waiting for the last member and moving the data.

All members leave a collective together, so the one that was in it for the shortest time came last: the rest of the others' time is
waiting, and no clock has to be compared across hosts. Of a message the receiver waits; a sender only where it demonstrably did not
leave before its receiver came. A batch of messages is one kernel that lasts until the last of them is through: there the common
clock says whom it waited for.
"""

from __future__ import annotations

import msgspec
import numpy as np

from analyzer.ranks.alignment.clocks import Clocks
from analyzer.ranks.alignment.matching import Matched
from analyzer.ranks.alignment.table import Table
from analyzer.spans.arrays import BoolArray, FloatArray, Int64Array


class Arrivals(msgspec.Struct, frozen=True):
    """Waiting and transfer.

    Args:
        waits: Which instances one waits in, shape (instances,): not broadcasts and their kin, whose members come and go.
        complete: Which have every member of their group present, shape (instances,): only there is the transfer known.
        transfer_ns: From the arrival of the last member on, shape (instances,).
        last: Row of the member that came last, shape (instances,).
        waiting_ns: What each row of `Matched.rows` waits, shape (matched,); 0 below the error. Of a batch one row has it.
        depends: Which of those rows last until the others have come, shape (matched,).
    """

    waits: BoolArray
    complete: BoolArray
    transfer_ns: Int64Array
    last: Int64Array
    waiting_ns: Int64Array
    depends: BoolArray


def arrivals(table: Table, matched: Matched, clocks: Clocks) -> Arrivals:
    """Splits every instance.

    Args:
        table: The rows.
        matched: Which belong together.
        clocks: Fitted to each other; below their error nothing is claimed to be waiting.
    """
    error_ns, start_ns = clocks.error_ns or 0, clocks.start_ns
    rows, mine = table.rows, matched.rows
    if not len(mine):
        nothing = np.zeros(0, dtype=np.int64)
        none = nothing.astype(bool)
        return Arrivals(none, none, nothing, nothing, nothing, none)
    dur = rows.dur_ns[mine]
    order = np.lexsort((dur, matched.instance))
    last = mine[order[matched.first]]
    transfer = dur[order[matched.first]]
    kind = rows.kind[last]
    waits = table.symmetric[kind] | table.pairwise[kind]
    waiting = np.where(waits[matched.instance], dur - transfer[matched.instance], 0)
    eager = _leave_at_once(table, matched, clocks)
    waiting[eager] = 0
    if clocks.aligned:
        _split_left(table, matched, clocks, eager, waiting, transfer)
    batched = rows.batched[mine]
    if batched.any():
        # An instance with a batch at either end is split by the clock.
        part = np.logical_or.reduceat(batched, matched.first)[matched.instance]
        if clocks.aligned:
            _split_batches(table, matched, start_ns, eager, part, waiting, transfer, last)
        else:
            waits = waits & ~np.logical_or.reduceat(batched, matched.first)
            waiting[part] = 0
    waiting[waiting <= error_ns] = 0
    sizes = np.array([group.size or len(group.ranks) for group in table.groups] or [0], dtype=np.int64)
    expected = np.where(table.pairwise[kind], 2, sizes[rows.group[last]])
    return Arrivals(
        waits=waits,
        complete=(expected > 0) & (matched.size >= expected),
        transfer_ns=transfer,
        last=last,
        waiting_ns=waiting,
        depends=waits[matched.instance] & ~eager,
    )


def _leave_at_once(table: Table, matched: Matched, clocks: Clocks) -> BoolArray:
    """Which rows are senders that may have left before their receiver came, shape (matched,).

    Small messages go into a buffer; a sender of a large one stays until it is taken.
    """
    mine, start_ns = matched.rows, clocks.start_ns
    sends = np.array([name == "send" for name in table.kinds], dtype=bool)[table.rows.kind[mine]]
    latest = np.maximum.reduceat(start_ns[mine], matched.first)[matched.instance]
    behind = latest - start_ns[mine]
    stayed = clocks.aligned & (behind > (clocks.error_ns or 0)) & (start_ns[mine] + table.rows.dur_ns[mine] >= latest)
    return np.asarray(sends & ~stayed, dtype=bool)


def _split_left(
    table: Table, matched: Matched, clocks: Clocks, eager: BoolArray, waiting: Int64Array, transfer: Int64Array
) -> None:
    """Splits in place messages whose sender had left while they were on their way: how long that was in them says nothing.

    The receiver waits until the message is sent, and what follows is the transfer.

    Args:
        table: The rows.
        matched: Which belong together.
        clocks: Fitted to each other.
        eager: Rows that wait for nobody, shape (matched,).
        waiting: As in `Arrivals`.
        transfer: As in `Arrivals`.
    """
    mine, instance = matched.rows, matched.instance
    start = clocks.start_ns[mine]
    end = start + table.rows.dur_ns[mine]
    over = np.maximum.reduceat(end, matched.first)
    left = np.logical_or.reduceat(eager & (over[instance] - end > (clocks.error_ns or 0)), matched.first)
    came = np.maximum.reduceat(start, matched.first)
    transfer[left] = (over - came)[left].astype(np.int64)
    receives = left[instance] & ~eager
    waiting[receives] = np.maximum(came[instance] - start, 0)[receives].astype(np.int64)


def _split_batches(
    table: Table,
    matched: Matched,
    start_ns: FloatArray,
    eager: BoolArray,
    part: BoolArray,
    waiting: Int64Array,
    transfer: Int64Array,
    last: Int64Array,
) -> None:
    """Splits instances with batches in place: a batch waits until the last of those it depends on has come.

    Args:
        table: The rows.
        matched: Which belong together.
        start_ns: Start of each row on the common clock, shape (rows,).
        eager: Rows that wait for nobody, shape (matched,).
        part: Rows of the instances to split, shape (matched,).
        waiting: As in `Arrivals`.
        transfer: As in `Arrivals`.
        last: As in `Arrivals`.
    """
    mine, instance = matched.rows, matched.instance
    start, dur = start_ns[mine], table.rows.dur_ns[mine].astype(np.float64)
    came = np.where(eager, start, np.maximum.reduceat(start, matched.first)[instance])
    _, stop = np.unique(table.rows.stop[mine], return_inverse=True)
    latest = np.full(int(stop.max()) + 1, -np.inf)
    np.maximum.at(latest, stop, came)
    waited = np.clip(latest[stop] - start, 0, dur)
    # The row of the one that came last has all the waiting of its kernel.
    order = np.lexsort((-came, stop))
    leads = np.zeros(len(mine), dtype=bool)
    leads[order[np.append(True, np.diff(stop[order]) > 0)]] = True
    waiting[part] = np.where(leads, waited, 0)[part].astype(np.int64)
    moved = np.minimum.reduceat(dur - waited, matched.first)
    which = np.unique(instance[part])
    transfer[which] = moved[which].astype(np.int64)
    by_start = np.lexsort((-start, instance))
    last[which] = mine[by_start[matched.first]][which]
