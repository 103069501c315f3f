"""Ranks that began to record in the middle of a step: who their peers are is told by the steps that they have whole."""

from __future__ import annotations

import msgspec
import pytest

from analyzer.ranks.merge import merge
from analyzer.ranks.summary import RankSummary
from jobs.simulated import MS, Job


def from_the_middle(one: RankSummary) -> RankSummary:
    """The rank without its first collective, which ran before its recording began."""
    columns = one.collectives
    lists = {
        name: getattr(columns, name)[1:]
        for name in columns.__struct_fields__
        if isinstance(getattr(columns, name), list)
    }
    own = {cause: values[1:] for cause, values in columns.own_ns.items()}
    return msgspec.structs.replace(one, collectives=msgspec.structs.replace(columns, **lists, own_ns=own))


@pytest.mark.parametrize("late", [0, 2])
def test_a_first_step_that_is_not_whole_takes_no_peers_away(late: int) -> None:
    made = Job(dp=2, tp=2, steps=6, late_host={late: 8 * MS}).run().summaries()
    cut = [from_the_middle(one) if one.rank == late else one for one in made]
    for ranks in (made, cut):
        job = merge(ranks)
        assert [(one.rank, one.cause) for one in job.late] == [(late, "host")], job.verdict.text
