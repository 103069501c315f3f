"""Ranks that had no core: what the machine took is nobody's fault, but for a program that stays on one rank's core."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from analyzer.ranks.document import Job as MergedJob
from analyzer.ranks.merge import merge
from analyzer.ranks.summary import RankSummary
from analyzer.ranks.waiting.lacks import Shown
from jobs.merged import ranks
from jobs.simulated import MS, Job


def test_a_rank_whose_cores_others_take_is_told_so() -> None:
    made = [
        msgspec.structs.replace(one, device_kind="cpu") for one in Job(dp=2, slow_device={1: 1.5}).run().summaries()
    ]
    alone = merge(made).late[0].cause_detail
    assert alone == "the same ops on the same shapes take longer on its cores"
    made[1] = msgspec.structs.replace(made[1], core_wait_ratio=0.43)
    assert merge(made).late[0].cause_detail == f"{alone}; for 43 % of its steps it had no core"


def starved(fault: dict[str, Any], *lacked: float, few_cores: bool = False) -> MergedJob:
    """A job on a CPU of which each rank had no core for such a share of its steps."""
    made = Job(dp=len(lacked), **fault).run().summaries()
    return merge(
        [
            msgspec.structs.replace(one, device_kind="cpu", core_wait_ratio=ratio, few_cores=few_cores)
            for one, ratio in zip(made, lacked, strict=True)
        ]
    )


def test_nobody_is_late_where_others_took_the_cores_of_all() -> None:
    job = starved({"slow_device": {1: 1.2}}, 0.25, 0.3)
    assert (job.late, job.verdict.held_up_by) == ((), "not clear")
    assert "30 % of its steps that one of them had no core" in job.verdict.text
    assert not any(one.scope in ("rank", "several ranks", "all ranks") for one in job.what_if)


@pytest.mark.parametrize("lacked", [0.0, 0.3])
def test_as_their_peers_ranks_would_lack_cores_all_the_same(lacked: float) -> None:
    job = starved({"slow_device": {1: 1.2}}, *[lacked] * 4)
    assert any(one.scope == "all ranks" for one in job.what_if) is not bool(lacked)


@pytest.mark.parametrize("lacked", [0.0, 0.3])
def test_a_little_that_ranks_differ_by_is_the_machines_where_they_lack_cores(lacked: float) -> None:
    """Work shared evenly would lack cores as well, though no more than 5 % of a step is at stake and nobody is late."""
    job = on_a_cpu(lacked, lacked, lacked, hiccup=1 * MS, steps=9)
    assert job.late == ()
    assert any(one.scope == "all ranks" for one in job.what_if) is not bool(lacked)


@pytest.mark.parametrize("few", [True, False])
def test_ranks_that_are_more_than_their_cores_do_not_blame_other_programs_alone(few: bool) -> None:
    said = starved({"slow_device": {1: 1.2}}, 0.25, 0.3, few_cores=few).verdict.text
    assert ("the other ranks, which are more than the cores they may use," in said) is few
    assert ("record with a core for each rank" in said) is few
    assert ("record on a quiet machine" in said) is not few


def test_what_the_lack_of_cores_does_not_explain_is_late_all_the_same() -> None:
    assert [(one.rank, one.cause) for one in starved({"imbalance": {1: 3.0}}, 0.2, 0.2).late] == [(1, "imbalance")]
    assert [one.rank for one in starved({"slow_device": {1: 1.2}}, 0.02, 0.3).late] == [1]
    assert [one.rank for one in starved({"slow_device": {1: 1.2}}, 0.0, 0.0).late] == [1]


def test_a_rank_that_shares_its_core_is_slow_in_its_ops_and_in_its_python() -> None:
    """Neither explains its lateness alone; that it had no core explains both."""
    both: dict[str, Any] = {"slow_device": {1: 1.2}, "late_host": {1: 3 * MS}}
    assert [(one.rank, one.cause) for one in starved(both, 0.0, 0.0).late] == [(1, "not clear")]
    [late] = starved(both, 0.0, 0.48).late
    assert (late.rank, late.cause) == (1, "device")
    assert late.cause_detail == "its ops and its Python both take longer; for 48 % of its steps it had no core"
    # What is too little to explain it, and what the others lack as well, says nothing.
    assert [one.cause for one in starved(both, 0.0, 0.11).late] in ([], ["not clear"])
    assert "device" not in [one.cause for one in starved(both, 0.47, 0.48).late]


def test_a_lack_of_cores_does_not_make_larger_batches_a_slow_device() -> None:
    assert [one.cause for one in starved({"imbalance": {1: 1.5}}, 0.0, 0.48).late] == ["imbalance"]


def test_nobody_is_not_said_of_ranks_without_cores_whose_collectives_cannot_be_compared() -> None:
    """A rank without its core moves data more slowly too; with no equal group that looks like its link."""
    assert starved({}, 0.0, 0.0).verdict.held_up_by == "nobody"
    job = starved({"jitter": 0.0}, 0.0, 0.45)
    assert (job.late, job.verdict.held_up_by) == ((), "not clear")
    assert "Rank 1 had no core for 45 % of its steps" in job.verdict.text


def on_a_cpu(*lacked: float | None, **plan: Any) -> MergedJob:
    """A job of three ranks whose core others had for such shares of the steps."""
    known = {name: tuple(value.items()) if isinstance(value, dict) else value for name, value in plan.items()}
    made = ranks("titan", program="ddp", dp=3, **known)
    return merge(
        [
            msgspec.structs.replace(one, device_kind="cpu", core_wait_ratio=ratio)
            for one, ratio in zip(made, lacked, strict=True)
        ]
    )


def test_a_program_that_comes_and_goes_is_the_machines_and_one_that_stays_is_told() -> None:
    at_times: dict[str, Any] = {"device": {1: 1.5}, "every": 2, "steps": 14}
    job = on_a_cpu(0.01, 0.3, 0.02, **at_times)
    assert (job.late, job.verdict.held_up_by) == ((), "not clear")
    assert "other programs had it" in job.verdict.text
    assert not any(one.scope == "rank" for one in job.what_if)
    # Without that it is the rank's own, and so is what is there in each step.
    assert [one.rank for one in on_a_cpu(0.01, 0.0, 0.02, **at_times).late] == [1]
    assert [one.rank for one in on_a_cpu(None, None, None, **at_times).late] == [1]
    [late] = on_a_cpu(0.01, 0.3, 0.02, device={1: 1.5}, steps=14).late
    assert (late.rank, late.cause) == (1, "device")


@pytest.mark.parametrize("lacked", [0.3, 0.5])
def test_larger_shapes_in_some_steps_are_no_lack_of_a_core(lacked: float) -> None:
    """That a rank lacked its core takes nothing from what its shapes say."""
    assert [one.cause for one in on_a_cpu(0.01, lacked, 0.02, tokens={1: 1.5}).late] == ["imbalance"]


def test_what_a_rank_loses_no_more_than_others_lacked_is_chance_at_any_share() -> None:
    """Less than a tenth of the steps, of which nothing is said else, is enough where no more is lost."""
    fault: dict[str, Any] = {"slow_device": {1: 1.1}}
    lost = starved(fault, 0.0, 0.12).late[0].waited_ns_per_step / starved(fault, 0.0, 0.12).step_ns
    assert 0.05 < lost < 0.09
    assert starved(fault, lost + 0.005, 0.12).late == ()
    assert [one.rank for one in starved(fault, lost - 0.01, 0.12).late] == [1]


@pytest.mark.parametrize("plan", [{"lengths": 0.5, "steps": 8}, {"hiccup": 4 * MS, "steps": 9}], ids=str)
def test_steps_that_each_wait_for_another_rank_are_the_machines_where_all_lack_cores(plan: dict[str, Any]) -> None:
    quiet = on_a_cpu(0.0, 0.0, 0.0, **plan)
    assert quiet.verdict.held_up_by == "several ranks", quiet.verdict.text
    crowded = on_a_cpu(0.5, 0.55, 0.5, **plan)
    assert crowded.verdict.held_up_by == "not clear"
    assert "55 % of its steps that one of them had no core" in crowded.verdict.text
    assert not any(one.scope == "all ranks" for one in crowded.what_if)
    # Too little to explain it.
    assert on_a_cpu(0.01, 0.01, 0.01, **plan).verdict.held_up_by == "several ranks"


def test_nobody_is_late_where_steps_that_wait_in_turn_cost_little() -> None:
    """Whoever is latest in a step by less than a late rank has to be is nobody to be looked for, cores or none."""
    little = on_a_cpu(0.2, 0.2, 0.2, lengths=0.1, steps=8)
    assert "Some rank is late" not in little.verdict.text
    assert "No rank is late by 5 %" in little.verdict.text or little.verdict.held_up_by == "nobody"


def test_a_rank_that_is_late_in_too_few_steps_is_not_told_so_where_it_lacked_its_core() -> None:
    seldom: dict[str, Any] = {"device": {1: 3.0}, "every": 3, "steps": 4}
    assert "may be chance" in on_a_cpu(0.0, 0.0, 0.0, **seldom).verdict.text
    text = on_a_cpu(0.5, 0.55, 0.5, **seldom).verdict.text
    assert "may be chance" not in text
    assert "record on a quiet machine" in text


def interrupted(plan: dict[str, Any], *parts: float) -> MergedJob:
    """A job of three ranks of which single ops take such shares of what all of them take longer than in other steps."""
    return merge(with_interrupted(plan, *parts))


def with_interrupted(plan: dict[str, Any], *parts: float) -> list[RankSummary]:
    """The ranks of such a job."""
    known = {name: tuple(value.items()) if isinstance(value, dict) else value for name, value in plan.items()}
    made = ranks("titan", program="ddp", dp=3, steps=14, **known)
    return [
        msgspec.structs.replace(
            one,
            device_kind="cpu",
            interrupted_ns=int(part * sum(step.causes.get("compute", 0) for step in one.steps)),
        )
        for one, part in zip(made, parts, strict=True)
    ]


def test_nobody_is_late_in_some_steps_where_single_ops_of_ranks_take_longer() -> None:
    """No trace of `torch.profiler` says for how long a thread had no core: its ops show it."""
    at_times: dict[str, Any] = {"device": {1: 1.5}, "every": 2}
    job = interrupted(at_times, 0.2, 0.4, 0.2)
    assert (job.late, job.verdict.held_up_by) == ((), "not clear")
    assert "single ops of 3 ranks take milliseconds longer" in job.verdict.text
    assert "advisor collect" in job.verdict.text
    assert not any(one.scope in ("rank", "several ranks", "all ranks") for one in job.what_if)
    assert [one.rank for one in interrupted(at_times, 0.01, 0.02, 0.01).late] == [1]


@pytest.mark.parametrize(
    ("plan", "cause"),
    [
        ({"python": {1: 15 * MS}}, "host"),
        ({"loader": {1: 15 * MS}, "every": 3}, "host"),
        ({"tokens": {1: 1.8}}, "imbalance"),
    ],
    ids=str,
)
def test_a_cause_of_its_own_is_told_where_cores_are_contended(plan: dict[str, Any], cause: str) -> None:
    assert [(one.rank, one.cause) for one in interrupted(plan, 0.2, 0.2, 0.2).late] == [(1, cause)]


def test_a_rank_whose_core_is_shared_in_each_step_is_late_where_no_other_one_is_interrupted() -> None:
    assert [one.rank for one in interrupted({"device": {1: 1.5}}, 0.0, 0.4, 0.0).late] == [1]
    # Where all are, ops that take longer say nothing of one.
    assert interrupted({"device": {1: 1.5}}, 0.15, 0.4, 0.15).late == ()


def test_what_a_rank_does_longer_as_it_lacks_cores_is_no_python_of_its_own() -> None:
    plan = {"python": {0: 10 * MS, 1: 14 * MS, 2: 10 * MS}}
    assert [one.rank for one in interrupted(plan, 0.0, 0.0, 0.0).late] == [1]
    assert interrupted(plan, 0.2, 0.5, 0.2).late == ()


def test_what_a_rank_spends_on_its_host_all_the_same_is_told_beside() -> None:
    """Another one is as late by what it lacked, so that neither holds the job up alone."""
    plan: dict[str, Any] = {"device": {2: 1.8}, "python": {1: 4 * MS}, "every": 2}
    job = interrupted(plan, 0.2, 0.2, 0.4)
    assert (job.late, job.verdict.held_up_by) == ((), "not clear")
    assert "Apart from that rank 1 spends" in job.verdict.text
    assert "Python on its host" in job.verdict.text
    assert "Apart from that" not in interrupted({"device": {1: 1.5}, "every": 2}, 0.2, 0.4, 0.2).verdict.text


@pytest.mark.parametrize("times", [1.0, 2.0])
def test_how_much_more_a_rank_has_to_compute_is_told_though_cores_lack(times: float) -> None:
    made = with_interrupted({"device": {1: 1.5}, "every": 2}, 0.2, 0.4, 0.2)
    each = [1e9, times * 1e9, 1e9]
    known = [
        msgspec.structs.replace(
            one, steps=tuple(msgspec.structs.replace(step, product_flops=flops) for step in one.steps)
        )
        for one, flops in zip(made, each, strict=True)
    ]
    told = "Apart from that rank 1 has 2 times as much to compute as the others" in merge(known).verdict.text
    assert told is (times > 1)


def test_what_single_ops_lose_hides_no_cause_of_the_ranks_own() -> None:
    both: dict[str, Any] = {"device": {1: 1.4}, "python": {1: 8 * MS}}
    assert [one.cause for one in interrupted(both, 0.0, 0.0, 0.0).late] == ["not clear"]
    assert [one.cause for one in interrupted(both, 0.15, 0.4, 0.15).late] == ["host"]


def test_a_job_in_which_no_rank_is_interrupted_by_much_has_a_report() -> None:
    """Steps wait in turn by as much as single ops take longer, which is too little to be called a lack on any rank."""
    job = interrupted({"lengths": 0.15}, 0.09, 0.09, 0.09)
    assert job.verdict.held_up_by == "not clear"
    assert "single ops of rank 0 take milliseconds longer" in job.verdict.text


@pytest.mark.parametrize(("part", "held"), [(0.1, "several ranks"), (0.3, "not clear")])
def test_what_lies_between_ops_is_lost_like_what_they_lose(part: float, held: str) -> None:
    """Steps wait in turn by more than single ops lose, and by no more than all that the ranks do loses with them."""
    pauses = {"hiccup": 12 * MS, "python": dict.fromkeys(range(3), 30 * MS)}
    assert interrupted(pauses, part, part, part).verdict.held_up_by == held


@pytest.mark.parametrize(
    ("lost", "python_ms", "every", "explained"),
    [(0.5, 4, None, True), (0.5, 4, 2, False), (0.3, 15, None, False), (0.0, 4, None, False)],
    ids=["no more than lost", "at equal distances", "more than lost", "nothing is lost"],
)
def test_of_the_one_rank_that_lacks_cores_what_lies_between_its_ops_is_no_cause_of_its_own(
    lost: float, python_ms: int, every: int | None, explained: bool
) -> None:
    made = with_interrupted({"python": {1: python_ms * MS}, "every": 2}, 0.0, lost, 0.0)
    job = interrupted({"python": {1: python_ms * MS}, "every": 2}, 0.0, 0.0, 0.0)
    late = msgspec.structs.replace(job.late[0], every=every)
    assert (late.rank, late.cause) == (1, "host")
    assert Shown(made).explain(late, job.step_ns) is explained
