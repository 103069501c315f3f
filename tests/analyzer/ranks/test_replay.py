"""A job played again as it was takes as long as it did, whatever of it could be matched."""

from __future__ import annotations

import msgspec
import pytest

from analyzer.ranks.merge import measure
from analyzer.ranks.summary import RankSummary
from analyzer.ranks.waiting.replay import Replay
from jobs.simulated import MS, Job


def unlike(summary: RankSummary, least: int) -> RankSummary:
    """The rank with another kind for each collective of the given number or a later one: nobody's then agrees with it."""
    columns = summary.collectives
    kinds = [1 - kind if number >= least and kind < 2 else kind for number, kind in enumerate(columns.kind)]
    return msgspec.structs.replace(summary, collectives=msgspec.structs.replace(columns, kind=kinds))


@pytest.mark.parametrize("least", [10_000, 20, 8, 0])
@pytest.mark.parametrize("layout", [{"dp": 2, "tp": 2}, {"dp": 4}], ids=str)
def test_played_as_recorded_a_job_takes_as_long_as_it_did(layout: dict[str, int], least: int) -> None:
    ranks = Job(**layout, sequences=False, late_host={1: 3 * MS}).run().summaries()
    ranks[1] = unlike(ranks[1], least)
    found = measure(ranks)
    replay = Replay(found.table, found.matched, found.found, found.clocks.start_ns)
    assert found.faithful
    assert replay.as_recorded_ns == pytest.approx(found.step_ns, rel=1e-3)


def test_nobody_waits_for_a_collective_that_only_one_rank_has() -> None:
    # What is in no instance belongs to none: with the first rank's late by a second only that rank is.
    ranks = Job(dp=2, sequences=False).run().summaries()
    ranks[0] = unlike(ranks[0], 0)
    found = measure(ranks)
    assert not len(found.matched)
    replay = Replay(found.table, found.matched, found.found, found.clocks.start_ns)
    later = replay.own_ns + 1_000 * MS * (found.table.rows.member == 0)
    mine = len(ranks[0].collectives.start_ns) / len(ranks[0].steps)
    grown = replay.step_ns(later, replay.transfer_ns) - replay.as_recorded_ns
    assert grown == pytest.approx(1_000 * MS * mine, rel=0.05)
