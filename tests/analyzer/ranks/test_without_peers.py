"""A rank that has nobody to be held against is not said to hold nobody up."""

from __future__ import annotations

import msgspec

from analyzer.ranks.merge import merge
from analyzer.ranks.summary import RankSummary
from jobs.simulated import MS, Job


def with_broadcasts(one: RankSummary) -> RankSummary:
    """The same rank, which sends something in front of the first collective of each step, as no other does."""
    columns = one.collectives
    firsts = [row for row, step in enumerate(columns.step) if step not in columns.step[:row]]
    order = sorted([*range(len(columns.step)), *firsts])
    sent = [place for place, row in enumerate(order) if place + 1 < len(order) and order[place + 1] == row]
    behind = {place + 1 for place in sent}
    lists = {
        name: [getattr(columns, name)[row] for row in order]
        for name in columns.__struct_fields__
        if isinstance(getattr(columns, name), list)
    }
    for place in sent:
        lists["kind"][place], lists["sequence"][place] = len(one.kinds), None
        lists["dur_ns"][place] = lists["exposed_ns"][place] = 0
    own = {
        cause: [0 if place in behind else values[row] for place, row in enumerate(order)]
        for cause, values in columns.own_ns.items()
    }
    changed = msgspec.structs.replace(columns, **lists, own_ns=own)
    return msgspec.structs.replace(one, kinds=(*one.kinds, "broadcast"), collectives=changed)


def test_where_a_rank_runs_other_collectives_it_is_not_said_that_nobody_is_late() -> None:
    ranks = Job(dp=4, late_host={1: 8 * MS}).run().summaries()
    assert [one.rank for one in merge(ranks).late] == [1]
    ranks[1] = with_broadcasts(ranks[1])
    job = merge(ranks)
    assert (job.late, job.verdict.held_up_by) == ((), "not clear"), job.verdict.text
    assert "not all of them have peers" in job.verdict.text


def test_where_ranks_hardly_wait_it_makes_no_difference() -> None:
    ranks = Job(dp=4).run().summaries()
    ranks[1] = with_broadcasts(ranks[1])
    assert merge(ranks).verdict.held_up_by == "nobody"
