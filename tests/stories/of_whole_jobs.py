"""Stories of servers on several devices, told as the folder of their ranks; written down before the tool was asked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from building.builders import TraceBuilder
from building.clocked import Clocked
from stories.job_story import JobStory
from stories.models import ADD, FLASH, NVJET
from stories.of_answering import ARGMAX, PAGED
from stories.of_serving import OF_TRAINING, RMS
from stories.story import GITHUB
from stories.together import Meet, Node, Together

HALF = "volta_fp16_s884gemm_fp16_64x128_ldg8_f2f_tn"
REDUCE = "ncclDevKernel_AllReduce_Sum_f16_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
CUSTOM = (
    "void vllm::cross_device_reduce_1stage<__nv_bfloat16, 4>"
    "(vllm::RankData*, vllm::RankSignals, vllm::Signal*, __nv_bfloat16*, int, int)"
)
SEND = "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)"
GROUPED = "void cutlass::device_kernel<cutlass::gemm::kernel::GemmUniversal<cutlass::gemm::GroupProblemShape<cute::tuple<int>>>>(p)"
GATHERED = "_multimem_all_gather_kernel"
SCATTERED = "_multimem_reduce_scatter_kernel"
# What is for copies of a model that train.
OF_REPLICAS = ("~bucket_cap_mb", "~no_sync", "~DistributedDataParallel\\(", "~fully_shard", "~[Rr]educe .*gradients")


def _launched_late() -> tuple[TraceBuilder, ...]:
    """Llama-7B over four V100s, kernel by kernel: one rank launches more slowly, the others wait for it in each all-reduce."""
    job = Together(4)

    def host(rank: int, usual: float) -> float:
        return usual * (3.2 if rank == 2 else 1)

    def attention(rank: int, world: Clocked) -> None:
        world.kernel_of("aten::mul", ADD, 4, host=host(rank, 13))
        world.kernel_of("aten::linear/aten::mm", HALF, 32, host=host(rank, 18))
        world.kernel_of(
            "aten::scaled_dot_product_attention/aten::_scaled_dot_product_efficient_attention",
            FLASH,
            11,
            host=host(rank, 40),
        )
        world.kernel_of("aten::linear/aten::mm", HALF, 14, host=host(rank, 18))

    def mlp(rank: int, world: Clocked) -> None:
        world.kernel_of("aten::mul", ADD, 4, host=host(rank, 13))
        world.kernel_of("aten::linear/aten::mm", HALF, 36, host=host(rank, 18))
        world.kernel_of("aten::silu", ADD, 4, host=host(rank, 13))
        world.kernel_of("aten::linear/aten::mm", HALF, 20, host=host(rank, 18))

    for _ in range(8):
        for _ in range(32):
            job.each(attention)
            job.met("allreduce", REDUCE, 26, elements=4096)
            job.each(mlp)
            job.met("allreduce", REDUCE, 26, elements=4096)
        job.each(lambda _, world: world.kernel_of("aten::argmax", ARGMAX, 14))
        job.each(lambda _, world: world.read_value())
    return job.ranks


def _inputs_sent_late() -> tuple[TraceBuilder, ...]:
    """vLLM over four H100s, graphs: rank 0 prepares what the others get by shared memory, and launches 1.6 ms behind them."""
    job = Together(4)
    layer: list[Node] = [
        (RMS, 4),
        (NVJET, 15),
        (PAGED, 14),
        (NVJET, 9),
        Meet(CUSTOM, 9),
        (RMS, 4),
        (NVJET, 24),
        (ADD, 3),
        (NVJET, 14),
    ]

    def prepared(rank: int, world: Clocked) -> None:
        world.idle(1_900 if rank == 0 else 300)
        world.copied("HtoD", 2_048, pinned=True, path="aten::to/aten::_to_copy/aten::copy_")

    def sampled(rank: int, world: Clocked) -> None:
        world.kernel_of("aten::argmax", ARGMAX, 12)
        world.copied("DtoH", 512, path="aten::to/aten::_to_copy/aten::copy_")

    for _ in range(12):
        begins = [world.now for world in job.ranks]
        job.each(prepared)
        job.replayed(lambda _: [*layer, Meet(CUSTOM, 9)] * 40)
        job.each(sampled)
        for begin, world in zip(begins, job.ranks, strict=True):
            world.annotation("execute_context_0(0)_generation_64(64)", begin, world.now - begin)
        # The next pass begins when the sampled tokens have come to the scheduler and back.
        latest = max(world.now for world in job.ranks)
        for world in job.ranks:
            world.now = latest + 150
    return job.ranks


def _experts_on_one_rank() -> tuple[TraceBuilder, ...]:
    """Megatron's inference, experts over four ranks: those of rank 3 are asked for more, 63 us a layer instead of 42; graphs."""
    job = Together(4)

    def nodes(rank: int) -> list[Node]:
        experts = 63.0 if rank == 3 else 42.0
        one: list[Node] = [
            (RMS, 4), (NVJET, 16), (PAGED, 15), (NVJET, 11), (RMS, 4), ("topk_gating_softmax_kernel", 5), Meet(GATHERED, 11),
            (GROUPED, experts * 0.6), (ADD, 4), (GROUPED, experts * 0.4), Meet(SCATTERED, 13),
        ]  # fmt: skip
        return one * 48

    for _ in range(12):
        begins = [world.now for world in job.ranks]
        job.each(lambda _, world: world.idle(350))
        job.replayed(nodes)
        job.each(lambda _, world: world.kernel_of("aten::argmax", ARGMAX, 12))
        job.each(lambda _, world: world.copied("DtoH", 512, path="aten::to/aten::_to_copy/aten::copy_"))
        for begin, world in zip(begins, job.ranks, strict=True):
            world.annotation("decode_step", begin, world.now - begin)
    return job.ranks


def _one_batch_in_flight() -> tuple[TraceBuilder, ...]:
    """vLLM over four stages: --max-num-seqs holds all requests in one batch, so each stage waits for the three others in turn."""
    stages = Together(4).ranks
    stage: list[tuple[str, float]] = [
        (RMS, 4),
        (NVJET, 18),
        (PAGED, 16),
        (NVJET, 12),
        (RMS, 4),
        (NVJET, 26),
        (ADD, 3),
        (NVJET, 17),
    ] * 16

    def message(rank: int, kind: str, peer: int, begin: float, end: float, number: int) -> None:
        world = stages[rank]
        facts: dict[str, Any] = {
            "Collective name": kind, "In msg nelems": 1 << 18, "Out msg nelems": 1 << 18, "Group size": 4, "dtype": "BFloat16",
            "Process Group Name": "3", "Process Group Description": "pp", "Process Group Ranks": "[0, 1, 2, 3]", "Seq": number,
            "Dst Rank" if kind == "send" else "Src Rank": peer,
        }  # fmt: skip
        world.op(f"c10d::{kind}", world.now, 25)
        world.op("record_param_comms", world.now + 2, 20, **facts)
        world.annotation(f"nccl:{kind} {rank}->{peer}", world.now + 3, 17)
        call = world.runtime("cudaLaunchKernelExC", world.now + 6, 5)
        world.kernel(SEND, begin, end - begin, stream=24, correlation=call, **facts)
        world.now += 26

    token = 1_000_000.0
    for number in range(1, 9):
        scheduled = token
        for rank, world in enumerate(stages):
            world.now = entered = max(world.now, scheduled)
            world.idle(300)
            if rank:
                begun = max(world.now + 14, world.busy_until.get(24, 0) + 1)
                message(rank, "recv", rank - 1, begun, max(token, begun) + 30, number)
                world.busy_until[24] = world.busy_until[7] = max(token, begun) + 30
            world.graph(stage, host=120)
            if rank < 3:
                begun = world.busy_until[7] + 4
                token = begun + 4
                message(rank, "send", rank + 1, begun, begun + 32, number)
                world.busy_until[24] = world.busy_until[7] = begun + 34
            else:
                world.kernel_of("aten::argmax", ARGMAX, 12)
                world.copied("DtoH", 1_024, path="aten::to/aten::_to_copy/aten::copy_")
                token = world.now + 500
            world.annotation("execute_context_0(0)_generation_128(128)", entered, world.now - entered)
    return stages


def _job(make: Callable[[], tuple[TraceBuilder, ...]]) -> dict[str, Any]:
    return {"make": lambda: make()[0], "play": make}


STORIES = (
    JobStory(
        "one rank launches late", "LLM inference, TP, job", GITHUB + "pytorch/pytorch/issues/120787",
        "one rank's host launches more slowly, the others wait in each all-reduce: graphs, or that host's cores",
        **_job(_launched_late),
        held_up=("late rank",), late=((2, "host"),), told=("~rank 2", "~cores"), never=("~checkpoints", *OF_REPLICAS, *OF_TRAINING),
    ),
    JobStory(
        "rank 0 prepares inputs", "LLM serving, TP, job", GITHUB + "vllm-project/vllm/issues/5792",
        "kernels of a pass begin at different times on the ranks; the first all-reduce waits for the one that prepares",
        **_job(_inputs_sent_late), held_up=("late rank",), late=((0, "host"),), told=("~rank 0", "~between passes"),
        never=("~checkpoints", *OF_REPLICAS,
        *OF_TRAINING),
    ),
    JobStory(
        "experts of one rank", "LLM serving, EP, job", GITHUB + "NVIDIA/Megatron-LM/pull/6468",
        "one rank's experts are asked for more, the others wait for it in the exchange: place experts anew",
        **_job(_experts_on_one_rank),
        held_up=("late rank",), late=((3, "imbalance"), (3, "not clear")), told=("~rank 3",), never=(*OF_REPLICAS, *OF_TRAINING),
    ),
    JobStory(
        "one batch for four stages", "LLM serving, PP, job", GITHUB + "vllm-project/vllm/issues/27462",
        "all requests are in one batch, three of four stages wait at a time: as many batches as stages",
        **_job(_one_batch_in_flight),
        held_up=("nobody",), told=("~in turn", "~batches"),
        never=(*OF_REPLICAS, "~interleav", "~Schedule1F1B|micro-?batch", "~late rank", *OF_TRAINING),
    ),
)  # fmt: skip
