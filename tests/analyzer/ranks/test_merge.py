"""Jobs with one fault planted, merged from summaries: the right rank, group or stage, and class; nobody in healthy ones."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
import pytest

from analyzer.ranks.document import Failed
from analyzer.ranks.document import Job as MergedJob
from analyzer.ranks.merge import merge
from analyzer.ranks.summary import RankSummary
from jobs.simulated import MS, Job

LAYOUTS: dict[str, dict[str, int]] = {
    "dp4": {"dp": 4},
    "dp2 tp2": {"dp": 2, "tp": 2},
    "dp2 tp2 pp2": {"dp": 2, "tp": 2, "pp": 2},
    "dp4 ep2": {"dp": 4, "ep": 2},
    "dp4 tp2 pp2 ep2": {"dp": 4, "tp": 2, "pp": 2, "ep": 2},
}


def merged(**job: Any) -> MergedJob:
    return merge(Job(**job).run().summaries(), name="job")


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_healthy_job_blames_nobody(layout: str, seed: int) -> None:
    job = merged(**LAYOUTS[layout], seed=seed, jitter=0.05)
    assert job.late == ()
    assert job.verdict.held_up_by == "nobody"
    assert not any(link.slow for link in job.links)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(
    ("fault", "cause", "cost_ms"),
    [
        ({"slow_device": {1: 1.5}}, "device", None),
        ({"late_host": {1: 8 * MS}}, "host", 8),
        ({"slow_input": {1: 8 * MS}}, "host", 8),
        ({"imbalance": {1: 1.5}}, "imbalance", None),
    ],
)
def test_the_late_rank_is_named_with_its_cause(
    layout: str, fault: dict[str, Any], cause: str, cost_ms: int | None
) -> None:
    job = merged(**LAYOUTS[layout], **fault)
    assert [(one.rank, one.cause, one.steps_late, one.of) for one in job.late] == [(1, cause, 4, 4)]
    assert job.verdict.rank == 1
    assert job.ranks[0].rank == 1
    if cost_ms is not None:
        assert job.late[0].waited_ns_per_step == pytest.approx(cost_ms * MS, rel=0.05)
    without = merged(**LAYOUTS[layout])
    played = next(one for one in job.what_if if one.ideal == "rank 1 as its peers")
    assert played.step_ns == pytest.approx(without.step_ns, rel=0.02)


def test_whoever_waits_for_the_late_rank_is_not_blamed_in_its_other_groups() -> None:
    # Rank 4 is last in its data-parallel group, because it waited for rank 5 in the tensor-parallel one.
    job = merged(dp=2, tp=2, pp=2, slow_device={5: 2.0})
    assert [one.rank for one in job.late] == [5]


@pytest.mark.parametrize("sequences", [True, False])
def test_a_slow_link_is_told_by_equal_groups(sequences: bool) -> None:
    job = merged(dp=4, tp=4, slow_link={"2": 4.0}, sequences=sequences)
    assert [(link.group, link.kind) for link in job.links if link.slow] == [("2", "all_reduce")]
    assert job.verdict.held_up_by == "slow link"
    assert [(one.rank, one.group, one.cause) for one in job.late] == [(4, "2", "link")]
    assert job.what_if[0].scope == "links"
    healthy = merged(dp=4, tp=4)
    assert job.what_if[0].step_ns == pytest.approx(healthy.step_ns, rel=0.02)


def test_two_groups_do_not_say_which_of_them_is_slow() -> None:
    job = merged(dp=2, tp=2, slow_link={"1": 4.0})
    assert not any(link.slow for link in job.links)
    assert all(link.peers_bytes_per_s is None for link in job.links)


def test_bandwidth_is_of_the_transfer_alone() -> None:
    job = merged(dp=4, slow_device={1: 1.5})
    [link] = job.links
    assert link.bytes_per_s == pytest.approx(100e6 / 1e-3, rel=0.01)
    assert link.bus_bytes_per_s == pytest.approx(1.5 * link.bytes_per_s)


def test_the_stage_that_sets_the_pace_is_named() -> None:
    job = merged(dp=2, pp=4, slow_stage={2: 1.6})
    assert job.pipeline is not None
    assert job.pipeline.slowest == 2
    assert [(one.cause, one.rank in job.pipeline.stages[2].ranks) for one in job.late] == [("stage", True)]
    assert job.verdict.held_up_by == "slow stage"
    assert [stage.ranks for stage in job.pipeline.stages] == [(0, 1), (2, 3), (4, 5), (6, 7)]


def test_a_pipeline_has_a_bubble_and_one_rank_has_none() -> None:
    job = merged(pp=2)
    assert job.pipeline is not None
    assert 0.1 < job.pipeline.bubble_ratio < 0.6
    assert merged(dp=2).pipeline is None


def test_clocks_that_differ_and_drift_change_nothing_beyond_the_stated_error() -> None:
    fault: dict[str, Any] = {"dp": 4, "tp": 2, "hosts": 2, "slow_device": {2: 1.5}}
    same, apart = merged(**fault), merged(**fault, offset={1: 50 * MS, 2: -3 * MS, 3: 1000 * MS}, drift={1: 20, 3: -15})
    assert apart.clock.aligned
    assert apart.clock.hosts == 4
    assert apart.clock.error_ns is not None
    assert apart.clock.error_ns < 5_000
    assert (
        [(one.rank, one.cause) for one in apart.late] == [(one.rank, one.cause) for one in same.late] == [(2, "device")]
    )
    assert apart.late[0].waited_ns_per_step == pytest.approx(same.late[0].waited_ns_per_step, rel=0.02)


def test_a_fault_that_comes_in_the_middle_says_since_when() -> None:
    job = merged(dp=4, steps=10, slow_device={2: 2.0}, from_step=6)
    assert [(one.rank, one.since_step, one.steps_late, one.of) for one in job.late] == [(2, 6, 4, 4)]


def test_a_rank_that_is_late_by_chance_is_not_blamed() -> None:
    job = Job(dp=4, steps=6, late_host={2: 12 * MS}, from_step=5)
    assert merge(job.run().summaries()).late == ()


def test_kernels_without_shapes_do_not_say_whether_the_device_is_slow() -> None:
    made = Job(dp=4, slow_device={2: 1.5}).run().summaries()
    blind = [
        msgspec.structs.replace(one, kernels=tuple(msgspec.structs.replace(row, shape="") for row in one.kernels))
        for one in made
    ]
    job = merge(blind)
    assert [(one.rank, one.cause, one.confidence) for one in job.late] == [(2, "not clear", "low")]
    larger = [msgspec.structs.replace(one, batch_size=64 if one.rank == 2 else 32) for one in blind]
    assert [(one.rank, one.cause) for one in merge(larger).late] == [(2, "imbalance")]


def test_missing_doubled_untrusted_and_unreadable_ranks_are_named_and_the_rest_is_told() -> None:
    made = Job(dp=8, slow_device={1: 1.5}).run().summaries()
    here = [one for one in made if one.rank not in (6, 7)]
    here[3] = msgspec.structs.replace(here[3], trust="unusable", doubts=("kernels are lost",))
    again = msgspec.structs.replace(made[2], file="rank_2_copy.json")
    nobody = msgspec.structs.replace(made[0], file="trace.json", rank=None, rank_source=None)
    job = merge([*here, again, nobody], [Failed(file="rank_7.json", rank=7, reason="the file is cut")], "job")
    states = {(row.rank, row.state) for row in job.ranks}
    assert {(6, "missing"), (7, "unreadable"), (3, "untrusted"), (2, "doubled"), (2, "ok")} <= states
    assert {one.file for one in job.failed} == {"rank_7.json", "rank_2_copy.json", "trace.json", "rank_3.json"}
    assert [(one.rank, one.cause) for one in job.late] == [(1, "device")]
    assert "5 of 8 ranks are here; nothing is known of the other 3, ranks 3, 6 and 7." in job.verdict.text
    # With members missing nobody knows when the last one came.
    assert job.links == ()


def test_ranks_whose_collectives_do_not_agree_are_not_forced_together() -> None:
    made = Job(dp=2, tp=2, sequences=False).run().summaries()
    other = made[1].collectives
    made[1] = msgspec.structs.replace(
        made[1], collectives=msgspec.structs.replace(other, kind=[1 if kind == 0 else kind for kind in other.kind])
    )
    job = merge(made)
    assert job.matched.contradicting > 0
    assert job.matched.matched + job.matched.alone + job.matched.contradicting == sum(
        len(one.collectives.start_ns) for one in made
    )


def test_collectives_of_unknown_groups_match_only_where_kinds_and_sizes_agree() -> None:
    def blind(sizes: list[int]) -> MergedJob:
        made = Job(dp=2, sequences=False).run().summaries()
        for place, size in enumerate(sizes):
            groups = tuple(msgspec.structs.replace(one, name=None, ranks=(), size=None) for one in made[place].groups)
            columns = made[place].collectives
            columns = msgspec.structs.replace(columns, sent_bytes=[size] * len(columns.start_ns))
            made[place] = msgspec.structs.replace(made[place], groups=groups, collectives=columns)
        return merge(made)

    assert blind([100, 100]).matched.matched == 8
    assert (blind([100, 200]).matched.matched, blind([100, 200]).matched.contradicting) == (0, 8)


def test_waiting_and_transfer_add_up_to_the_time_in_collectives() -> None:
    for row in merged(dp=2, tp=2, slow_device={1: 1.5}).ranks:
        assert row.in_collectives_ns is not None
        assert row.waiting_ns is not None
        assert row.transfer_ns is not None
        assert row.waiting_ns + row.transfer_ns == row.in_collectives_ns
        assert sum(row.waiting_by_step_ns) // 4 == row.exposed_waiting_least_ns


def test_no_ranks_and_one_rank_are_told_without_a_verdict() -> None:
    assert merge([]).verdict.held_up_by == "not clear"
    assert merge(Job(dp=2).run().summaries()[:1]).verdict.held_up_by == "not clear"


def test_uneven_all_to_alls_name_who_gets_most() -> None:
    made = Job(dp=4, ep=4).run().summaries()
    columns = made[2].collectives
    made[2] = msgspec.structs.replace(
        made[2], collectives=msgspec.structs.replace(columns, received_bytes=[10_000_000] * len(columns.start_ns))
    )
    [uneven] = merge(made).uneven
    assert (uneven.rank, uneven.ratio) == (2, pytest.approx(10 / 5.5))


def test_kernels_beside_collectives_are_held_against_the_same_alone() -> None:
    made = Job(dp=2).run().summaries()
    row = msgspec.structs.replace(made[1].kernels[0], count=8, dur_ns=4 * 100 + 4 * 150, beside_count=4, beside_ns=600)
    made[1] = msgspec.structs.replace(made[1], kernels=(row,))
    found = merge(made).contention
    assert found is not None
    assert (found.rank, found.slower_ratio, found.ns_per_step) == (1, 0.5, 50)


def ending_late(made: list[RankSummary], rank: int, most_ns: int) -> list[RankSummary]:
    """The same, where a rank sees some ends late, by chance."""
    noise = np.random.default_rng(1)
    one = made[rank]
    columns = msgspec.structs.replace(
        one.collectives,
        dur_ns=[ns + int(noise.integers(most_ns)) * int(noise.integers(2)) for ns in one.collectives.dur_ns],
    )
    return [*made[:rank], msgspec.structs.replace(one, collectives=columns), *made[rank + 1 :]]


def test_ends_that_are_late_by_chance_say_nothing_of_a_clock_that_is_shared() -> None:
    """A rank that shares its core comes back late from some collectives: that is no other clock."""
    made = Job(dp=2, steps=20, late_host={1: 6 * MS}).run().summaries()
    job = merge(ending_late(made, 1, 8 * MS))
    assert job.clock.error_ns is not None
    assert job.clock.error_ns < 2 * MS
    assert [(one.rank, one.cause) for one in job.late] == [(1, "host")]
    healthy = merge(ending_late(Job(dp=2, steps=20).run().summaries(), 1, 8 * MS))
    assert healthy.late == ()
    # On clocks of their own the same ends do say so.
    apart = merge(ending_late(Job(dp=2, steps=20, hosts=1).run().summaries(), 1, 8 * MS))
    assert apart.clock.error_ns is not None
    assert apart.clock.error_ns > 2 * MS


def test_machines_of_one_name_are_not_taken_for_one_clock() -> None:
    """Containers are often called alike: what always differs is stated as the error."""
    made = Job(dp=2, steps=20).run().summaries()
    other = [
        msgspec.structs.replace(one, origin_ns=one.origin_ns + one.rank * 10 * MS)
        for one in made
        if one.rank is not None
    ]
    job = merge(other)
    assert job.clock.hosts == 1
    assert job.clock.error_ns is not None
    assert job.clock.error_ns >= 4.9 * MS
    assert job.late == ()
