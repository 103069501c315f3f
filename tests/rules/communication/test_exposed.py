"""CO001: a data-parallel loop whose all-reduce runs 30 ms of each 100 ms step with no compute beside it."""

from __future__ import annotations

from typing import Any

import pytest

from analyzer.cause_names import CAUSES
from analyzer.facts import Facts
from analyzer.finding import Confidence, Severity, State
from analyzer.verdict import judgement_of
from building.builders import AUTOGRAD, TraceBuilder
from rules import RULES
from rules.communication.exposed import RULE
from running.one_rule import judged, run

ALL_REDUCE = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"


def world(
    *,
    alone: float = 30_000,
    beside: float = 20_000,
    range_name: str = "nccl:all_reduce",
    kind: str = "float",
    name: str = ALL_REDUCE,
    **metadata: Any,
) -> TraceBuilder:
    """Three steps of 100 ms: compute, the collective beside its end and then alone, the rest idle."""
    builder = TraceBuilder(top={"distributedInfo": {"backend": "nccl", "rank": 0, "world_size": 8}})
    for number in range(3):
        at = number * 100_000.0
        builder.step(number, at, 100_000)
        builder.annotation("DistributedDataParallel.forward", at, 40)
        builder.launch(at + 50, kernel_start=at + 100, kernel_dur=60_000)
        args = {"Input Dims": [[25_000_000]], "Input type": [kind]}
        builder.event(range_name, "user_annotation", at + 100, 20, args=args)
        builder.launch(
            at + 105,
            kernel_start=at + 60_100 - beside,
            kernel_dur=beside + alone,
            name=name,
            stream=20,
            op=None,
            **metadata,
        )
    return builder


@pytest.mark.parametrize(("devices", "size", "alone"), [(2, None, True), (2, 1, True), (1, None, False), (2, 8, False)])
def test_devices_of_one_process_are_no_ranks_to_record(devices: int, size: int | None, *, alone: bool) -> None:
    """A copy of the collective runs on each of the devices that the process drives, of a job of so many processes."""
    builder = world()
    builder.top.pop("distributedInfo")
    if size is not None:
        builder.top["distributedInfo"] = {"backend": "nccl", "rank": 0, "world_size": size}
    for number in range(3):
        for device in range(1, devices):
            start = number * 100_000 + 40_100
            builder.launch(
                start - 40_000,
                kernel_start=start,
                kernel_dur=50_000,
                name=ALL_REDUCE,
                device=device,
                stream=20,
                op=None,
            )
    found = judged(RULE, builder).finding
    assert ("One process gives them to 2 devices" in found.why, "One rank's trace" in found.why) == (alone, not alone)
    assert any(fix.code.startswith("Record all") for fix in found.fix) is not alone


def test_fires_with_the_exposed_time_as_bound() -> None:
    found = judged(RULE, world())
    assert found.ns_per_step == 30_000_000
    assert (found.severity, found.confidence) == (Severity.HIGH, Confidence.HIGH)
    assert found.finding.why == (
        "For 30 ms of each 100 ms step (30 %) the GPU is only inside collectives: compute hides 40 % of their time. "
        "One rank's trace cannot tell waiting for another rank from transferring."
    )
    assert "all 8 ranks" in found.finding.fix[0].code
    assert any("bf16_compress_hook" in advice.code for advice in found.finding.fix)
    table = found.finding.evidence[1]
    assert table.rows == (("all_reduce", 1.0, 100_000_000.0, 30_000_000.0),)  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("name", "metadata"),
    [
        ("on_device_all_to_all_v_kernel", {}),
        ("void uccl::internode_ll::dispatch<false, 7168>(void*, float*)", {}),
        ("void my::exchange<float>(float*)", {"Collective name": "allreduce", "Group size": 8}),
    ],
    ids=["Triton", "a fork of DeepEP", "by its metadata"],
)
def test_exposed_whoever_wrote_the_kernel(name: str, metadata: dict[str, Any]) -> None:
    assert judged(RULE, world(name=name, **metadata)).ns_per_step == 30_000_000


def test_a_reduction_inside_blocks_is_compute_though_it_sounds_alike() -> None:
    result = run(RULE, world(name="void block_all_reduce_sum_f32_f32_kernel<256>(float*, float*, int)"))
    assert result.state is State.NOT_APPLICABLE


def test_quiet_when_compute_runs_beside() -> None:
    assert run(RULE, world(alone=0, beside=50_000)).state is State.CLEAR


@pytest.mark.parametrize(("alone", "state"), [(4_900, State.CLEAR), (5_100, State.FIRED)])
def test_boundary(alone: float, state: State) -> None:
    assert run(RULE, world(alone=alone)).state is state


def test_not_applicable_in_a_single_process() -> None:
    builder = TraceBuilder().step(0, 0, 100)
    builder.launch(0, kernel_start=10, kernel_dur=80)
    assert run(RULE, builder).state is State.NOT_APPLICABLE


@pytest.mark.parametrize("op", ["fbgemm::permute_2D_sparse_data", "aten::add"])
def test_all_to_all_gets_other_advice_than_gradients(op: str) -> None:
    builder = world(range_name="nccl:all_to_all")
    builder.op(op, 10, 5)
    fix = judged(RULE, builder).finding.fix
    assert not any("DistributedDataParallel" in advice.code or "compress_hook" in advice.code for advice in fix)


@pytest.mark.parametrize(
    ("kernel", "kind", "narrower"),
    [
        ("elementwise_kernel", "float", True),
        ("_compute_FP8_quantize_cuda_kernel<float>", "float", False),
        ("k", "c10::Half", False),
    ],
)
def test_what_is_sent_in_few_bits_is_not_to_be_made_narrower(kernel: str, kind: str, narrower: bool) -> None:
    builder = world(range_name="nccl:all_to_all", kind=kind)
    builder.op("fbgemm::permute_2D_sparse_data", 5, 2)
    builder.launch(10, kernel_start=50, kernel_dur=10, name=kernel)
    fix = judged(RULE, builder).finding.fix
    assert any("CommType.BF16" in advice.code for advice in fix) is narrower
    assert any("Balance the shards" in advice.code for advice in fix) is not narrower


@pytest.mark.parametrize(
    ("name", "in_use"),
    [("## wait_sparse_data_dist ##", True), ("## sdd_preprocess_splits ##", True), ("## forward ##", False)],
)
def test_a_pipeline_in_use_is_not_advised(name: str, in_use: bool) -> None:
    builder = world(range_name="nccl:all_to_all").annotation(name, 10, 20)
    builder.op("fbgemm::permute_2D_sparse_data", 5, 2)
    fix = judged(RULE, builder).finding.fix
    assert any("TrainPipelineSparseDist" in advice.code for advice in fix) is not in_use


@pytest.mark.parametrize(
    ("op", "torchrec"),
    [
        ("fbgemm::permute_2D_sparse_data", True),
        ("aten::embedding_bag", True),
        ("fbgemm::f8f8bf16_rowwise", False),
        ("aten::linear", False),
    ],
)
def test_only_programs_with_embedding_tables_get_torchrec(op: str, torchrec: bool) -> None:
    """Experts and the heads of attention are exchanged by the same collective."""
    builder = world(range_name="nccl:all_to_all")
    builder.op(op, 5, 2)
    builder.op("MoELayer", 8, 1)
    with_experts = " ".join(advice.code for advice in judged(RULE, builder).finding.fix)
    assert "torchrec" not in with_experts
    assert "Balance what the ranks get" in with_experts
    del builder.events[-1]
    fix = " ".join(advice.code for advice in judged(RULE, builder).finding.fix)
    assert ("torchrec" in fix) is torchrec


def test_gradients_of_16_bits_are_not_to_be_halved_again() -> None:
    fix = judged(RULE, world(kind="c10::BFloat16")).finding.fix
    assert not any("compress_hook" in advice.code for advice in fix)
    assert any("no_sync" in advice.code for advice in fix)


@pytest.mark.parametrize(("allocated", "first"), [(60_000_000_000, "no_sync"), (20_000_000_000, "bf16_compress_hook")])
def test_where_memory_limits_the_batch_accumulating_comes_first(allocated: int, first: str) -> None:
    builder = world().annotation("DistributedDataParallel.forward", 0, 50)
    args = {"Device Type": 1, "Device Id": 0, "Bytes": 512, "Addr": 1, "Total Allocated": allocated}
    event = builder.event("[memory]", "cpu_instant_event", 99_000, None, args={**args, "Total Reserved": allocated})
    event["ph"] = "i"
    fixes = judged(RULE, builder).finding.fix
    assert first in fixes[1].code
    assert any("of the card already" in fix.note for fix in fixes) is (first == "no_sync")


def test_gloo_on_another_thread_counts_while_the_loop_waits() -> None:
    builder = TraceBuilder(None)
    for number in range(3):
        at = number * 100_000.0
        builder.step(number, at, 100_000)
        builder.op("aten::linear", at, 50_000)
        builder.annotation("gloo:all_reduce", at + 40_000, 50_000, thread=AUTOGRAD)
    found = judged(RULE, builder)
    assert found.ratio == pytest.approx(0.4)
    assert "training is only inside collectives" in found.finding.why


@pytest.mark.parametrize("recorded", [True, False])
def test_without_the_training_threads_ops_nobody_knows_what_hides_the_collectives(recorded: bool) -> None:
    builder = TraceBuilder(None)
    builder.op("aten::empty", -10, 1)
    for number in range(3):
        at = number * 100_000.0
        builder.step(number, at, 100_000)
        if recorded:
            builder.op("aten::linear", at, 10_000)
        builder.annotation("gloo:all_reduce", at + 10_000, 80_000, thread=AUTOGRAD)
    facts = Facts(builder.trace())
    caveats = judged(RULE, builder).finding.caveats
    assert any("unseen" in caveat for caveat in caveats) is not recorded
    found = judgement_of(facts, {cause: facts.time.waterfall.owned(cause).total_ns for cause in CAUSES}).verdict
    assert found.bound_by == "communication"
    assert ("as far as the trace shows" in found.text) is not recorded


@pytest.mark.parametrize(("size", "said"), [(1, ": the trace says that the job has one rank"), (8, "")])
def test_collectives_that_run_nowhere_are_said_to_be_called(size: int, said: str) -> None:
    """Ranges on the host, and no kernel: as data parallelism with one rank leaves it, or a device's part that was not recorded."""
    builder = world()
    builder.top["distributedInfo"]["world_size"] = size
    builder.events[:] = [event for event in builder.events if event["name"] != ALL_REDUCE]
    result = run(RULE, builder)
    assert result.state is State.NOT_APPLICABLE
    assert result.reason == (
        f"3 collectives are called in the used steps (`all_reduce`), but no kernel of one runs on the device{said}"
    )


@pytest.mark.parametrize("code", ["CO003", "CO007", "CO008", "CO009"])
def test_a_job_of_one_rank_is_not_asked_for_the_others(code: str) -> None:
    (rule,) = (one for one in RULES if one.meta.code == code)
    builder = world()
    assert run(rule, builder).state is State.CANNOT_TELL
    builder.top["distributedInfo"]["world_size"] = 1
    result = run(rule, builder)
    assert result.state is State.NOT_APPLICABLE
    assert "one rank" in result.reason
