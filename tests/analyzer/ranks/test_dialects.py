"""Jobs as poorer recorders leave them, whole and in part: what is said of them is true, or nothing is."""

from __future__ import annotations

from functools import cache
from typing import Any

import msgspec
import pytest

from analyzer.job.called import distinct_names, job_name
from analyzer.ranks.document import Job as MergedJob
from analyzer.ranks.group_kinds import kind_of_group
from analyzer.ranks.merge import merge
from analyzer.ranks.names import kind_of, rank_in, ranks_among
from analyzer.ranks.summary import RankSummary
from jobs.dialects import DIALECTS, in_dialect, with_steps_from
from jobs.simulated import MS, Job

LAYOUTS: dict[str, dict[str, int]] = {
    "dp4": {"dp": 4},
    "dp2 tp2": {"dp": 2, "tp": 2},
    "tp2 pp2": {"tp": 2, "pp": 2},
    "dp4 ep2": {"dp": 4, "ep": 2},
}
FAULTS: dict[str, dict[str, Any]] = {
    "healthy": {},
    "device": {"slow_device": {1: 1.5}},
    "host": {"late_host": {1: 8 * MS}},
}
PRESENT: dict[str, tuple[int, ...] | None] = {"all": None, "0 and 1": (0, 1), "1 and 2": (1, 2)}


@cache
def made(layout: str, fault: str) -> tuple[RankSummary, ...]:
    job = Job(**LAYOUTS[layout], **FAULTS[fault], jitter=0.03, hosts=2, offset={1: 50 * MS})
    return tuple(job.run().summaries())


def of(layout: str, fault: str, dialect: str, present: tuple[int, ...] | None = None) -> MergedJob:
    found = in_dialect(made(layout, fault), dialect)
    return merge([one for one in found if present is None or one.rank in present])


@pytest.mark.parametrize("present", PRESENT)
@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dialect", DIALECTS)
def test_nothing_false_is_said(dialect: str, layout: str, fault: str, present: str) -> None:
    here = PRESENT[present]
    job = of(layout, fault, dialect, here)
    blamed = {one.rank for one in job.late}
    assert blamed <= ({1} if fault != "healthy" else set())
    assert all(one.cause in (fault, "not clear") for one in job.late)
    assert not any(link.slow for link in job.links)
    assert job.verdict.held_up_by in ("late rank", "nobody", "not clear")
    if job.verdict.held_up_by == "nobody":
        assert (fault, here) == ("healthy", None)
    for one in job.what_if:
        # Nothing that was not planted is worth 5 % of the step.
        assert one.saved_ns_per_step < 0.05 * job.step_ns or blamed
    if here is not None:
        assert "ranks are here; nothing is known of the other" in job.verdict.text
        assert all(one.at_most for one in (*job.late, *job.what_if))


_ENOUGH = ["whole", "no sequence", "no members", "no members, no sequence", "no hosts", "members in any order"]


@pytest.mark.parametrize("dialect", _ENOUGH)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_what_is_stated_well_enough_is_told(layout: str, dialect: str) -> None:
    job = of(layout, "host", dialect)
    assert [(one.rank, one.cause, one.at_most) for one in job.late] == [(1, "host", False)]
    assert of(layout, "healthy", dialect).verdict.held_up_by == "nobody"


def test_names_of_kernels_are_enough_for_plain_data_parallelism() -> None:
    job = of("dp4", "host", "names only")
    assert [(one.rank, one.cause) for one in job.late] == [(1, "host")]


def test_groups_that_are_guessed_part_where_their_ends_do() -> None:
    job = of("dp2 tp2", "host", "names only")
    assert (job.matched.matched, job.late) == (0, ())
    assert job.matched.contradicting > 0


def test_a_rank_beside_one_that_is_not_here_is_late_at_most() -> None:
    job = of("dp4", "host", "whole", (0, 1))
    [late] = job.late
    assert late.at_most
    assert job.verdict.text.startswith("Of the ranks that are here the others wait up to 7.9 ms of each")


def test_kernels_that_do_not_say_what_they_are_leave_the_verdict_open() -> None:
    job = of("dp4", "host", "one kernel for all")
    assert job.verdict.held_up_by == "not clear"
    assert "could not be held against other ranks'" in job.verdict.text


def test_of_ranks_that_are_all_here_none_is_said_to_be_missing() -> None:
    """A rank of an older torch does not number its collectives: they match nobody's, and it is here all the same."""
    found = [DIALECTS["no sequence"](one) if one.rank == 1 else one for one in made("dp4", "host")]
    job = merge(found)
    assert (job.late, job.verdict.held_up_by) == ((), "not clear")
    assert "that are not here" not in job.verdict.text
    assert "some of their members recorded otherwise" in job.verdict.text


def test_two_ranks_that_are_equally_late_are_named_together() -> None:
    job = merge(Job(dp=4, late_host={1: 8 * MS, 2: 8 * MS}).run().summaries())
    assert job.late == ()
    assert job.verdict.held_up_by == "several ranks"
    assert job.verdict.text.startswith("With ranks 1, 2 as their peers the step takes")
    assert job.what_if[0].saved_ns_per_step == pytest.approx(8 * MS, rel=0.05)


def test_steps_that_are_counted_differently_are_one_by_their_collectives() -> None:
    ranks = list(made("dp4", "host"))
    ranks[2] = with_steps_from(ranks[2], 100)
    job = merge(ranks)
    assert job.steps == (0, 1, 2, 3)
    assert [(one.rank, one.steps_late, one.of) for one in job.late] == [(1, 4, 4)]


def test_only_steps_that_all_ranks_recorded_are_held_against_each_other() -> None:
    ranks = list(Job(dp=4, steps=6, late_host={1: 8 * MS}).run().summaries())
    ranks[3] = msgspec.structs.replace(ranks[3], steps=ranks[3].steps[:4], collectives=_first(ranks[3], 4), tail_ns={})
    job = merge(ranks)
    assert job.steps == (0, 1, 2, 3)
    assert [(one.rank, one.of) for one in job.late] == [(1, 4)]


def _first(one: RankSummary, steps: int) -> Any:
    columns = one.collectives
    rows = sum(step < steps for step in columns.step)
    lists = {
        name: getattr(columns, name)[:rows]
        for name in columns.__struct_fields__
        if isinstance(getattr(columns, name), list)
    }
    own = {cause: values[:rows] for cause, values in columns.own_ns.items()}
    return msgspec.structs.replace(columns, **lists, own_ns=own)


def test_ranks_of_two_runs_that_look_alike_are_not_held_against_each_other() -> None:
    first = Job(dp=4, late_host={1: 8 * MS}).run().summaries()
    second = Job(dp=4, seed=7, jitter=0.3).run().summaries()
    later = msgspec.structs.replace(second[1], origin_ns=second[1].origin_ns + 3600 * 1000 * MS)
    job = merge([first[0], later])
    assert job.late == ()
    assert job.verdict.held_up_by == "not clear"


def test_a_rank_that_its_groups_do_not_know_is_none_of_them() -> None:
    ranks = list(made("dp2 tp2", "healthy"))
    ranks[1] = msgspec.structs.replace(ranks[1], rank=7, rank_source="file name")
    job = merge(ranks)
    assert job.matched.contradicting == len(ranks[1].collectives.start_ns)
    assert job.late == ()


def test_ranks_that_pass_blocks_around_a_ring_are_no_pipeline() -> None:
    ranks = []
    for one in Job(dp=4).run().summaries():
        assert one.rank is not None
        rows = len(one.collectives.start_ns)
        kinds = ("send", "recv")
        columns = msgspec.structs.replace(
            one.collectives,
            kind=[row % 2 for row in range(rows)],
            peer=[(one.rank + (1 if row % 2 == 0 else -1)) % 4 for row in range(rows)],
        )
        ranks.append(msgspec.structs.replace(one, kinds=kinds, collectives=columns))
    job = merge(ranks)
    assert job.pipeline is None


def test_stages_of_which_some_are_not_here_are_not_numbered() -> None:
    job = of("tp2 pp2", "healthy", "whole", (0, 1))
    assert job.pipeline is None
    assert of("tp2 pp2", "healthy", "whole").pipeline is not None


@pytest.mark.parametrize(
    ("description", "kind"),
    [
        ("TENSOR_MODEL_PARALLEL_GROUP", "tp"),
        ("PIPELINE_MODEL_PARALLEL_GROUP", "pp"),
        ("MODEL_PARALLEL_GROUP", "other"),
        ("TENSOR_AND_DATA_PARALLEL_GROUP", "other"),
        ("EXPERT_DATA_PARALLEL_GROUP", "dp"),
        ("EXPERT_MODEL_PARALLEL_GROUP", "ep"),
        ("mesh_dp_shard", "dp"),
        ("default_pg", "other"),
        (None, "other"),
    ],
)
def test_a_group_is_called_what_the_program_calls_it(description: str | None, kind: str) -> None:
    assert kind_of_group(description) == kind


@pytest.mark.parametrize(
    ("name", "rank"),
    [
        ("1712345678.9-TP-3.trace.json.gz", 3),
        ("1712345678.9-TP-3-DP-1-PP-0-EP-3.trace.json.gz", None),
        ("dp0_pp0_tp3_dcp0_ep3_rank3.1762345678901234567.pt.trace.json.gz", 3),
        ("host_1234.1696969696969.pt.trace.json", None),
        ("step_100.json", None),
        ("iteration-5.pt.trace.json", None),
        ("trace_2.json", 2),
        ("kineto_trace_rank[5].json", 5),
        ("node1_local_rank3_global_rank11.json", 11),
        ("global_rank11_local_rank3.json", 11),
        ("globalrank9.pt.trace.json", 9),
        ("local_rank3.json", 3),
        ("node1_local_rank3.json", None),
        ("node_rank_1_rank_9.json", 9),
        ("node_rank_1.json", None),
        ("tp_rank_3.json", None),
        ("num_worker_4_rank_2.json", 2),
        ("worker_4_rank_2.json", 2),
        ("num_worker_4.json", None),
        ("worker0.1712345678901.pt.trace.json", 0),
        ("rank=7.json", 7),
        ("frank3.json", None),
        ("tprank3_rank5.json", 5),
        ("profile_rank007_step_20.json.gz", 7),
        ("trace_2024-05-01.json", None),
        ("2024_05_01.json", None),
        ("seed-1.json.gz", None),
        ("3.json", 3),
    ],
)
def test_a_rank_is_read_from_a_name_only_where_it_is_one(name: str, rank: int | None) -> None:
    assert rank_in(name) == rank


@pytest.mark.parametrize(
    ("places", "ranks"),
    [
        (("TP-0-DP-0", "TP-1-DP-0", "TP-2-DP-1", "TP-3-DP-1"), (0, 1, 2, 3)),
        (("TP-1-DP-1-EP-1", "TP-0-DP-0-EP-0"), (1, 0)),
        # Two replicas, each a job of its own; two stages; one that says nothing.
        (("TP-0-DP-0", "TP-0-DP-1"), ()),
        (("TP-0-DP-0-PP-0", "TP-1-DP-0-PP-1"), ()),
        (("TP-0-DP-0", "other"), ()),
    ],
)
def test_places_in_several_dimensions_are_ranks_where_one_tells_all_files_apart(
    places: tuple[str, ...], ranks: tuple[int, ...]
) -> None:
    assert ranks_among([f"1712345678.9-{place}.trace.json.gz" for place in places]) == ranks


@pytest.mark.parametrize(
    ("kernel", "kind"),
    [
        ("void vllm::cross_device_reduce_1stage<__nv_bfloat16, 8>(vllm::RankData*)", "all_reduce"),
        ("void flashinfer::trtllm_allreduce_fusion::allreduce_fusion_kernel_oneshot_lamport<>", "all_reduce"),
        ("ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)", "all_gather"),
        ("ncclKernel_AllReduce_RING_LL_Sum_float(ncclWorkElem)", "all_reduce"),
        ("hcom_allReduce__606_0_1", "all_reduce"),
        ("hcom_reduceScatter__606_3_1", "reduce_scatter"),
        ("hcom_alltoallvc__606_3_1", "all_to_all"),
        ("hcom_send__606_3_1", "send"),
        ("hcom_receive__606_3_1", "recv"),
        ("oneccl_allgatherv_small_kernel<c10::BFloat16>", "all_gather"),
        ("xccl:reduce_scatter", "reduce_scatter"),
        ("ucc:alltoall_base", "all_to_all"),
        ("hccl:allgather_base", "all_gather"),
        (
            "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)",
            "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)",
        ),
        (
            "void deep_ep::internode_ll::dispatch<true, 7168>(void*)",
            "void deep_ep::internode_ll::dispatch<true, 7168>(void*)",
        ),
        ("void deep_ep::intranode::notify_dispatch<8>(int const*, int*)", "barrier"),
        ("void deep_ep::internode::cached_notify<true, 4>(int)", "barrier"),
        ("a2a_dispatch_send_kernel", "a2a_dispatch_send_kernel"),
        ("a2a_combine_recv_kernel", "a2a_combine_recv_kernel"),
    ],
)
def test_a_kernel_is_of_a_kind_only_where_its_name_says_so(kernel: str, kind: str) -> None:
    assert kind_of(kernel) == kind


def test_files_of_one_name_are_told_apart_by_their_folders() -> None:
    places = ["/x/job/rank0/trace.json", "/x/job/rank1/trace.json"]
    assert distinct_names(places) == ["rank0/trace.json", "rank1/trace.json"]
    assert distinct_names(["/a/b/c.json", "/a/b/d.json"]) == ["c.json", "d.json"]
    assert job_name(places) == "job"
