"""CO001, CO002 and CO005 of a program that only runs its model: no gradients, no buckets, no DDP; kinds by the kernels' names."""

from __future__ import annotations

import pytest

from analyzer.facts import Facts
from analyzer.facts.communication.kernel_kinds import kind_of_kernel
from analyzer.finding import State
from building.builders import TraceBuilder
from rules.communication.exposed import RULE as EXPOSED
from rules.communication.poor_overlap import RULE as OVERLAP
from rules.communication.small_collectives import RULE as SMALL
from running.one_rule import judged, run

OF_TRAINING = (
    "DistributedDataParallel",
    "no_sync",
    "bucket",
    "compress_hook",
    "accumul",
    "gradient",
    "loss",
    "torchrec",
    "for more data",
)
CUSTOM = "void vllm::cross_device_reduce_1stage<__nv_bfloat16, 8>(vllm::RankData*, vllm::RankSignals)"
NCCL = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
STAGE = "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)"
EXPERTS = "void deep_ep::internode_ll::dispatch<false, 7168>(void*, float*)"
STEP = 20_000.0


def world(name: str, *, trains: bool = False, range_name: str | None = None, graph: bool = False) -> TraceBuilder:
    """Five passes of 30 layers: 400 us of compute, then 200 us of a collective, which a range names, or nothing does."""
    builder = TraceBuilder(top={"distributedInfo": {"backend": "nccl", "rank": 0, "world_size": 8}})
    for number in range(5):
        at = number * STEP
        builder.step(number, at, STEP)
        call = builder.runtime("cudaGraphLaunch", at + 5, 10) if graph else None
        builder.op("vllm::unified_attention", at + 20, 30)
        for layer in range(30):
            when = at + 100 + 620 * layer
            for what, start, dur in (("gemm_bf16", when, 400), (name, when + 405, 200)):
                if graph:
                    builder.kernel(what, start, dur, correlation=call)
                elif what == name and range_name is not None:
                    args = {"Input Dims": [[8, 4096]], "Input type": ["c10::BFloat16"]}
                    builder.event(range_name, "user_annotation", start - 30, 20, args=args)
                    builder.launch(start - 25, kernel_start=start, kernel_dur=dur, name=what, op=None)
                else:
                    builder.launch(start - 25, kernel_start=start, kernel_dur=dur, name=what, op=None)
        if trains:
            builder.optimizer(at + STEP - 200, 100)
    return builder


def told(builder: TraceBuilder) -> str:
    """All that the fixes of CO001 and CO002 say."""
    fixes = (advice for rule in (EXPOSED, OVERLAP) for advice in judged(rule, builder).finding.fix)
    return " ".join(advice.code + advice.note for advice in fixes)


@pytest.mark.parametrize("graph", [False, True], ids=["launched", "in a graph"])
@pytest.mark.parametrize(
    ("name", "kind", "words"),
    [
        (CUSTOM, "all_reduce", "fewer ranks"),
        (NCCL, "all_reduce", "one-shot"),
        (STAGE, "send_recv", "batches in flight"),
        (EXPERTS, "all_to_all", "Balance"),
    ],
    ids=["custom", "nccl", "stages", "experts"],
)
def test_serving_is_told_nothing_of_training(name: str, kind: str, words: str, graph: bool) -> None:
    builder = world(name, graph=graph)
    assert Facts(builder.trace()).communication.collectives.main_kind == kind
    text = told(builder)
    assert words in text
    assert [word for word in OF_TRAINING if word in text] == []


def test_an_all_reduce_for_small_messages_is_not_advised_where_it_runs() -> None:
    assert "one-shot" in told(world(NCCL))
    text = told(world(CUSTOM))
    assert "one-shot" not in text
    assert "already one for small messages" in text


def test_processes_on_cpus_are_told_of_no_links_between_devices() -> None:
    builder = TraceBuilder(None, top={"distributedInfo": {"backend": "gloo", "rank": 0, "world_size": 8}})
    for number in range(5):
        at = number * STEP
        builder.step(number, at, STEP)
        builder.op("aten::mm", at, 5_000)
        builder.annotation("gloo:all_reduce", at + 5_100, 14_000)
    fixes = " ".join(advice.code + advice.note for advice in judged(EXPOSED, builder).finding.fix)
    assert "NVLink" not in fixes
    assert "xGMI" not in fixes
    assert "NVLink" in told(world(NCCL))


def test_training_with_the_same_kernels_is_told_of_training() -> None:
    text = told(world(NCCL, trains=True))
    assert "accumulation" in text
    assert "one-shot" not in text


@pytest.mark.parametrize("trains", [False, True])
def test_small_collectives_of_serving_cannot_be_joined(trains: bool) -> None:
    result = run(SMALL, world(NCCL, trains=trains, range_name="nccl:all_reduce"))
    assert result.state is (State.FIRED if trains else State.NOT_APPLICABLE)


def test_the_table_names_kinds_that_no_range_names() -> None:
    table = judged(EXPOSED, world(CUSTOM)).finding.evidence[1]
    assert table.rows == (("all_reduce", None, None, 6_000_000.0),)  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)", "reduce_scatter"),
        ("ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)", "all_gather"),
        ("ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(ncclDevComm*, unsigned long, ncclWork*)", "send_recv"),
        ("ncclDevKernel_Broadcast_RING_LL(ncclDevKernelArgsStorage<4096ul>)", "broadcast"),
        ("ncclDevKernel_Generic(ncclDevComm*, channelMasks, ncclWork*)", "collective"),
        ("ncclDevKernel_Generic_4(ncclDevKernelArgsStorage<4096ul>)", "collective"),
        ("one_shot_all_reduce_kernel", "all_reduce"),
        ("void quickreduce::allreduce_prototype_twoshot<quickreduce::AllReduceTwoshot>(half*)", "all_reduce"),
        ("on_device_all_to_all_v_kernel", "all_to_all"),
        ("EpDispatchIntraNodeKernel_bf16", "all_to_all"),
        ("ep_combine_kernel", "all_to_all"),
        ("ncclDevKernel_Reduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)", "reduce"),
        ("void tensorrt_llm::kernels::moeA2ADispatchKernel<4>(MoeA2ADispatchKernelPointers)", "all_to_all"),
    ],
)
def test_kind_of_a_kernel(name: str, kind: str) -> None:
    assert kind_of_kernel(name) == kind
