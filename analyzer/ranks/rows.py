"""The rows of the document: every rank, the most costly first, and every group."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from analyzer.ranks.alignment.matching import Matched
from analyzer.ranks.alignment.roll import Roll
from analyzer.ranks.alignment.table import Table
from analyzer.ranks.document import JobGroup, JobRank
from analyzer.ranks.group_kinds import kind_of_group
from analyzer.ranks.summary import RankSummary
from analyzer.ranks.waiting.arrivals import Arrivals
from analyzer.ranks.waiting.exposed import Exposed, exposed_waiting
from analyzer.ranks.waiting.stages import Pipeline
from analyzer.spans.arrays import Int64Array


def rank_rows(
    roll: Roll,
    table: Table,
    matched: Matched,
    found: Arrivals,
    cost_ns: Mapping[int, float],
    pipe: Pipeline | None,
) -> tuple[tuple[JobRank, ...], tuple[int, ...]]:
    """Every rank, the most costly first, then the one that waits least, then those that are not used; and the step numbers."""
    numbers = np.unique([step.number for one in table.summaries for step in one.steps] or [0])
    waiting = _waiting(table, matched, found)
    hosts: dict[str, int] = {}
    bare = exposed_waiting(table, matched, found, numbers)
    rows = [
        _row(table, one, place, int(waiting[place]), bare, hosts, cost_ns, pipe)
        for place, one in enumerate(table.summaries)
    ]
    rows.sort(key=lambda row: (-(row.cost_ns or 0), row.waiting_ns or 0, -(row.step_ns or 0)))
    rows += [_plain(roll, one) for one in (*roll.untrusted, *roll.doubled)]
    rows += [
        JobRank(rank=one.rank, state="unreadable", file=one.file) for one in roll.failed if _unread(roll, one.file)
    ]
    rows += [JobRank(rank=rank, state="missing") for rank in roll.missing]
    return tuple(rows), tuple(numbers.tolist())


def _unread(roll: Roll, file: str) -> bool:
    return all(one.file != file for one in (*roll.used, *roll.untrusted, *roll.doubled))


def _waiting(table: Table, matched: Matched, found: Arrivals) -> Int64Array:
    """What each rank waits in all steps together, whether or not it computes meanwhile, shape (ranks,)."""
    waiting = np.zeros(len(table.summaries), dtype=np.int64)
    rows = matched.rows
    if len(rows):
        member = table.rows.member[rows]
        # A rank waits first; what it waits in two collectives at once it waits once.
        np.add.at(waiting, member, _alone_ns(member, table.rows.start_ns[rows], found.waiting_ns))
    return waiting


def _alone_ns(member: Int64Array, start_ns: Int64Array, dur_ns: Int64Array) -> Int64Array:
    """What of each span lies in none of its rank that began before it, shape (spans,)."""
    end_ns, alone = start_ns + dur_ns, np.zeros_like(dur_ns)
    order = np.lexsort((start_ns, member))
    edges = np.flatnonzero(np.diff(member[order])) + 1
    for mine in np.split(order, edges):
        reached = np.maximum.accumulate(end_ns[mine])
        begin = np.maximum(start_ns[mine], np.append(start_ns[mine[:1]], reached[:-1]))
        alone[mine] = np.maximum(end_ns[mine] - begin, 0)
    return alone


def _row(
    table: Table,
    one: RankSummary,
    place: int,
    waiting_ns: int,
    bare: Exposed,
    hosts: dict[str, int],
    cost_ns: Mapping[int, float],
    pipe: Pipeline | None,
) -> JobRank:
    steps = max(len(one.steps), 1)
    mine = (table.rows.member == place) & table.rows.leads
    inside = int(_alone_ns(table.rows.member[mine], table.rows.start_ns[mine], table.rows.dur_ns[mine]).sum()) // steps
    waits = waiting_ns // steps
    cost = cost_ns.get(one.rank) if one.rank is not None else None
    return JobRank(
        rank=one.rank,
        state="ok",
        host=None if one.host is None else hosts.setdefault(one.host, len(hosts)),
        file=one.file,
        step_ns=int(table.step_ns[place]),
        waterfall=_causes(one),
        in_collectives_ns=inside,
        waiting_ns=waits,
        transfer_ns=inside - waits,
        exposed_ns=int(bare.whole_ns[place]) // steps,
        exposed_waiting_least_ns=int(bare.least_ns[place]) // steps,
        exposed_waiting_most_ns=int(bare.most_ns[place]) // steps,
        cost_ns=None if cost is None else int(cost),
        bound_by=one.bound_by,
        verdict=one.verdict,
        trust=one.trust,
        stage=None if pipe is None else int(pipe.stage[place]),
        waiting_by_step_ns=tuple(bare.by_step_ns[place].tolist()),
    )


def _causes(one: RankSummary) -> dict[str, int]:
    """By cause, what it owns of a step, in the mean."""
    found: dict[str, int] = {}
    for step in one.steps:
        for cause, ns in step.causes.items():
            found[cause] = found.get(cause, 0) + ns
    return {cause: ns // max(len(one.steps), 1) for cause, ns in found.items()}


def _plain(roll: Roll, one: RankSummary) -> JobRank:
    return JobRank(rank=one.rank, state=roll.state_of(one), file=one.file, trust=one.trust, verdict=one.verdict)


def group_rows(table: Table) -> tuple[JobGroup, ...]:
    """Every group by its number of collectives; not that of what nobody says the group of, where there is none such."""
    here = set(table.ranks)
    counts = (
        np.bincount(table.rows.group, minlength=len(table.groups)) if len(table.rows) else np.zeros(len(table.groups))
    )
    made = [
        JobGroup(
            name=group.name,
            description=group.description,
            ranks=group.ranks,
            size=group.size,
            present=len(here & set(group.ranks)) if group.ranks else len(here),
            kind=kind_of_group(group.description),
            collectives=int(counts[place]),
        )
        for place, group in enumerate(table.groups)
        if counts[place] or group.name is not None or group.ranks
    ]
    return tuple(sorted(made, key=lambda one: (-one.collectives, one.ranks)))
