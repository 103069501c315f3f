"""Jobs of tensor, pipeline, expert and data parallelism, as traces of several recorders: the right rank and class, or nobody."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from analyzer.job.one import summary_of
from building.builders import TraceBuilder
from jobs.merged import blamed, told
from jobs.other_programs import OTHERS
from jobs.programs import MS

LAYOUTS: dict[str, dict[str, Any]] = {
    "megatron dp2 tp2 pp2": {"program": "megatron", "dp": 2, "tp": 2, "pp": 2},
    "megatron pp4": {"program": "megatron", "pp": 4},
    "megatron dp4 ep2": {"program": "megatron", "dp": 4, "ep": 2},
    "fsdp dp2 tp2": {"program": "fsdp", "dp": 2, "tp": 2},
    "ddp dp3": {"program": "ddp", "dp": 3},
    "serve tp4": {"program": "serve", "tp": 4},
}
# Of each program that is played with some faults only.
FEW = {
    "ring": {"dp": 2, "tp": 4}, "ulysses": {"dp": 2, "tp": 2}, "hybrid": {"dp": 2, "tp": 2}, "zero": {"dp": 4},
    "accumulating": {"dp": 3}, "seldom": {"dp": 3}, "interleaved": {"dp": 2, "pp": 2},
}  # fmt: skip
FAULTS: dict[str, tuple[dict[str, Any], str]] = {
    "device": ({"device": {1: 1.5}}, "device"),
    "tokens": ({"tokens": {1: 1.5}}, "imbalance"),
    "loader": ({"loader": {1: 9 * MS}}, "host"),
    "python": ({"python": {1: 9 * MS}}, "host"),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("jitter", [0.02, 0.08])
def test_nobody_is_blamed_in_a_healthy_job(layout: str, jitter: float) -> None:
    job = told(**LAYOUTS[layout], jitter=jitter)
    assert (blamed(job), job.verdict.held_up_by) == ([], "nobody"), job.verdict.text
    assert not any(link.slow for link in job.links)
    # Here nothing that runs beside a transfer takes anything from it.
    assert job.contended == ()


@pytest.mark.parametrize(("recorder", "named"), [("megatron", True), ("titan", True), ("deepspeed, torch 2.4", False)])
def test_of_a_pipeline_that_lacks_a_rank_those_of_one_layer_are_held_against_each_other(
    recorder: str, named: bool
) -> None:
    present = tuple(range(7))
    late = told(recorder, present, program="megatron", dp=2, tp=2, pp=2, python={1: 20 * MS}).late
    assert [(one.rank, one.cause, one.at_most) for one in late] == [(1, "host", True)] * named
    assert told(recorder, present, program="megatron", dp=2, tp=2, pp=2).late == ()


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_rank_at_fault_is_named_with_its_class(layout: str, fault: str) -> None:
    if (layout, fault) == ("serve tp4", "loader"):
        pytest.skip("a server has no loader")
    plan, cause = FAULTS[fault]
    job = told(**LAYOUTS[layout], **plan)
    if layout == "megatron pp4" and cause == "imbalance":
        # A stage of one rank shares its work with the other stages: of three microbatches nothing is gained by that.
        even = told(**LAYOUTS[layout], tokens=dict.fromkeys(range(4), 4.5 / 4))
        assert even.step_ns > 0.95 * job.step_ns
        assert (blamed(job), job.verdict.held_up_by) == ([], "nobody"), job.verdict.text
        return
    assert blamed(job) == [(1, cause)], job.verdict.text
    healthy = told(**LAYOUTS[layout])
    best = max(one.saved_ns_per_step for one in job.what_if)
    assert 0.4 * (job.step_ns - healthy.step_ns) < best < 1.1 * (job.step_ns - healthy.step_ns)


@pytest.mark.parametrize("fault", ["none", "tokens", "python"])
@pytest.mark.parametrize("program", OTHERS)
def test_other_ways_to_share_work_are_told_as_well(program: str, fault: str) -> None:
    plan, cause = FAULTS[fault] if fault != "none" else ({}, "")
    job = told("titan", program=program, layers=1, **FEW[program], **plan)
    assert blamed(job) == ([(1, cause)] if plan else []), job.verdict.text
    assert job.verdict.held_up_by == ("late rank" if plan else "nobody"), job.verdict.text


@pytest.mark.parametrize("recorder", ["titan", "deepspeed, torch 2.4", "rccl", "members cut", "no shapes"])
@pytest.mark.parametrize("fault", ["none", "python", "device"])
@pytest.mark.parametrize("layout", ["megatron dp2 tp2 pp2"])
def test_whatever_the_recorder_says_of_groups_nothing_false_is_said(layout: str, fault: str, recorder: str) -> None:
    plan, cause = FAULTS[fault] if fault != "none" else ({}, "")
    job = told(recorder, **LAYOUTS[layout], **plan)
    assert {rank for rank, _ in blamed(job)} <= ({1} if plan else set()), job.verdict.text
    assert {named for _, named in blamed(job)} <= {cause, "not clear"}
    # Groups whose members nobody states, and messages whose other end nobody states, may stay open.
    if recorder != "members cut":
        assert [rank for rank, _ in blamed(job)] == ([1] if plan else []), job.verdict.text


@pytest.mark.parametrize("recorder", ["torch 2.1", "torch 1.13"])
@pytest.mark.parametrize("fault", ["none", "python", "device"])
def test_without_names_of_groups_several_of_them_are_not_judged(recorder: str, fault: str) -> None:
    plan = FAULTS[fault][0] if fault != "none" else {}
    assert blamed(told(recorder, **LAYOUTS["megatron dp2 tp2 pp2"], **plan)) == []
    # One group alone needs no name.
    job = told(recorder, **LAYOUTS["ddp dp3"], **plan)
    assert [rank for rank, _ in blamed(job)] == ([1] if plan else [])


@pytest.mark.parametrize(
    ("plan", "ranks_at_it", "kind"),
    [
        ({"dp": 4, "tp": 2, "link": {(2, 3): 4.0}}, (2, 3), "all_reduce"),
        ({"dp": 2, "tp": 4, "link": {(1, 5): 4.0}}, (1, 5), "reduce_scatter"),
        ({"dp": 4, "pp": 2, "link": {(1, 5): 20.0}}, (1, 5), "send"),
        ({"pp": 4, "per_host": 8, "link": {(1, 2): 20.0}}, (1, 2), "send"),
        ({"dp": 6, "ep": 2, "link": {(2, 3): 6.0}}, (2, 3), "all_to_all"),
    ],
)
def test_a_slow_link_is_named_by_its_ends(plan: dict[str, Any], ranks_at_it: tuple[int, ...], kind: str) -> None:
    job = told(**plan)
    assert {(link.ranks, link.kind) for link in job.links if link.slow} >= {(ranks_at_it, kind)}
    assert {link.ranks for link in job.links if link.slow} == {ranks_at_it}
    assert (blamed(job), job.verdict.held_up_by) == ([(ranks_at_it[0], "link")], "slow link"), job.verdict.text
    whole = told(**{name: value for name, value in plan.items() if name != "link"})
    # Of experts the link is in the one group of data too, which has no equal.
    if "ep" not in plan:
        assert job.what_if[0].step_ns == pytest.approx(whole.step_ns, rel=0.08)


def test_a_link_between_hosts_is_not_held_against_those_inside_them() -> None:
    assert not any(link.slow for link in told(pp=4, link={(1, 2): 20.0}).links)


def test_of_two_groups_the_slower_is_told_and_not_blamed() -> None:
    job = told(dp=2, tp=2, link={(0, 1): 4.0})
    assert (blamed(job), job.verdict.held_up_by) == ([], "not clear")
    assert "which of the two is as it should be cannot be told" in job.verdict.text
    assert told(dp=2, tp=2).verdict.held_up_by == "nobody"


def test_links_without_equals_are_not_said_to_be_fine() -> None:
    job = told(program="fsdp", dp=4, link={(2, 3): 6.0})
    assert blamed(job) == []
    assert "whether their links are slow is not said" in job.verdict.text


def test_experts_that_get_more_tokens_are_an_imbalance_and_uneven() -> None:
    job = told(dp=4, ep=2, experts={1: 3.0})
    assert blamed(job) == [(1, "imbalance")]
    assert [one.rank for one in job.uneven] == [1]
    assert told(dp=4, ep=2).uneven == ()


def test_the_stage_with_more_layers_is_named() -> None:
    job = told(dp=2, pp=4, microbatches=8, stage={1: 1.6})
    assert job.pipeline is not None
    assert (job.pipeline.slowest, job.verdict.held_up_by) == (1, "slow stage")
    assert [(one.cause, one.rank in job.pipeline.stages[1].ranks) for one in job.late] == [("stage", True)]


@pytest.mark.parametrize("present", [(0, 1), (0, 1, 4, 5), (2, 7)])
@pytest.mark.parametrize("fault", ["none", "loader"])
def test_of_ranks_that_are_not_here_nothing_is_said(present: tuple[int, ...], fault: str) -> None:
    plan = FAULTS[fault][0] if fault != "none" else {}
    job = told(present=present, **LAYOUTS["megatron dp2 tp2 pp2"], **plan)
    assert {rank for rank, _ in blamed(job)} <= ({1} & {*present} if plan else set())
    assert all(one.at_most for one in (*job.late, *job.what_if))
    assert f"{len(present)} of 8 ranks are here; nothing is known of the other {8 - len(present)}" in job.verdict.text


def batch(builder: TraceBuilder, at: float, *names: str, thread: int = 4242, group: str = "1") -> TraceBuilder:
    """Collectives that are issued one after another, and the one kernel of all of them."""
    for place, name in enumerate(names):
        said = {"Collective name": name, "In msg nelems": 10, "Out msg nelems": 10, "dtype": "Float"}
        said |= {"Process Group Name": group, "Process Group Ranks": "[0, 1]", "Group size": 2, "Seq": 7, "Dst Rank": 1}
        builder.op("record_param_comms", at + place, 0.5, thread=thread, **said)
    builder.launch(
        at + 50, kernel_start=at + 60, kernel_dur=20, name="ncclDevKernel_SendRecv(x)", op=None, thread=thread
    )
    return builder


def kinds(builder: TraceBuilder, folder: Path) -> list[tuple[str, int | None, int | None]]:
    found = summary_of(builder.write(folder / "rank_0.json"))
    columns = found.collectives
    return [
        (found.kinds[kind], number, size)
        for kind, number, size in zip(columns.kind, columns.sequence, columns.sent_bytes, strict=True)
    ]


def test_a_coalesced_bucket_is_one_collective_of_all_its_bytes(tmp_path: Path) -> None:
    builder = batch(TraceBuilder().step(0, 0, 1_000), 100, "_allgather_base", "_allgather_base", "_allgather_base")
    assert kinds(builder, tmp_path) == [("all_gather", 7, 120)]


def test_a_batch_of_several_kinds_is_not_guessed(tmp_path: Path) -> None:
    builder = batch(TraceBuilder().step(0, 0, 1_000), 100, "_allgather_base", "allreduce")
    assert [(number, size) for _, number, size in kinds(builder, tmp_path)] == [(None, None)]


def test_what_another_thread_issued_is_no_part_of_the_batch(tmp_path: Path) -> None:
    builder = batch(TraceBuilder().step(0, 0, 1_000), 100, "send", "send")
    builder.op(
        "record_param_comms",
        110,
        0.5,
        thread=77,
        **{"Collective name": "allreduce", "In msg nelems": 1, "dtype": "Float"},
    )
    assert kinds(builder, tmp_path) == [("send", 7, 40), ("send", 7, 40)]


def test_what_was_issued_before_the_used_steps_is_no_part_of_a_batch_in_them(tmp_path: Path) -> None:
    builder = batch(TraceBuilder(), 0, "send", "send", "send")
    builder.step(0, 100, 1_000)
    assert kinds(batch(builder, 200, "recv"), tmp_path) == [("recv", 7, 40)]


@pytest.mark.parametrize("late", [{"python": {2: 20 * MS}}, {"device": {2: 1.5}}], ids=["host", "device"])
def test_balance_takes_nothing_away_of_what_makes_one_rank_of_a_stage_late(late: dict[str, Any]) -> None:
    def saved(**wrong: Any) -> float:
        job = told("titan", pp=2, dp=2, stage={1: 1.45}, **wrong)
        assert not wrong or [rank for rank, _ in blamed(job)] == [2]
        return next(one.saved_ns_per_step for one in job.what_if if one.ideal == "pipeline stage 1 balanced")

    assert saved(**late) == pytest.approx(saved(), rel=0.1)
