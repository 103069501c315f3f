"""Stories of ranks that train together, written down, demands and all, before the tool was asked."""

from __future__ import annotations

from building.clocked import Clocked
from building.dialects import rocm
from stories.models import (
    ADD,
    CIJK,
    GATHER,
    NVJET,
    RANKS,
    layer,
    layers,
    layers_back,
    update,
)
from stories.story import GITHUB, Story

SCATTER = "ncclDevKernel_ReduceScatter_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
REDUCE = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
GREATEST = "ncclDevKernel_AllReduce_MinMax_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
GENERIC = "ncclDevKernel_Generic_1(ncclDevKernelArgsStorage<4096ul>)"


def _replicas_reduced() -> Clocked:
    """FSDP2 on 2 x 8 GPUs over Ethernet: accumulating, each micro-batch is reduced; only the last, 88.8 s become 54.3."""
    world = Clocked(top={"distributedInfo": {"backend": "nccl", "rank": 0, "world_size": 16}})
    for _ in world.steps(3):
        for _ in range(4):
            world.load(50, workers=4)
            ready = world.busy_until.get(7, world.now)
            for index in range(6):
                with world.inside(f"FSDP::pre_forward (model.layers.{index})"):
                    ready = world.collective("_allgather_base", 500, kernel=GATHER, group="mesh_shard", size=8)
                    world.kernel_of("fsdp::split_with_sizes_copy", ADD, 40, after=ready if index == 0 else 0)
                layer(world)
            with world.backward():
                for index in range(6):
                    with world.inside(f"FSDP::pre_backward (model.layers.{5 - index})"):
                        world.collective("_allgather_base", 500, kernel=GATHER, group="mesh_shard", size=8)
                    with world.node("MmBackward0"):
                        layer(world, 2, backward=True)
                    with world.inside(f"FSDP::post_backward_reduce (model.layers.{5 - index})"):
                        made = world.busy_until[7]
                        part = world.collective(
                            "_reduce_scatter_base",
                            500,
                            kernel=SCATTER,
                            stream=22,
                            after=made,
                            dtype="Float",
                            group="mesh_shard",
                            size=8,
                        )
                        end = world.collective(
                            "allreduce",
                            7_500,
                            kernel=REDUCE,
                            stream=24,
                            after=part,
                            dtype="Float",
                            group="mesh_replicate",
                            size=2,
                        )
            world.busy_until[7] = end
        update(world, dur=700)
    return world


def _greatest_one_by_one() -> Clocked:
    """float8 under FSDP2: the greatest value of each weight is reduced by itself in front of each gather: once for all."""
    world = Clocked(top=RANKS)
    for _ in world.steps(3):
        for index in range(12):
            with world.inside(f"FSDP::pre_forward (layers.{index})"):
                for _ in range(7):
                    world.kernel_of("aten::abs", ADD, 8, host=40)
                    world.kernel_of("aten::max", ADD, 10, host=40)
                    end = world.collective(
                        "allreduce",
                        16,
                        kernel=GREATEST,
                        stream=24,
                        after=world.busy_until[7],
                        elements=1,
                        dtype="Float",
                        size=8,
                    )
                    world.busy_until[7] = end
                    world.idle(60)
                    world.kernel_of("aten::reciprocal", ADD, 2, host=30)
                end = world.collective(
                    "_allgather_base", 190, kernel=GATHER, after=world.busy_until[7], dtype="Byte", size=8
                )
                world.kernel_of("fsdp::split_with_sizes_copy", ADD, 30, after=end)
            layer(world, 0.5)
        with world.backward():
            for index in range(12):
                with world.inside(f"FSDP::pre_backward (layers.{11 - index})"):
                    world.collective("_allgather_base", 190, kernel=GATHER, dtype="Byte", size=8)
                with world.node("MmBackward0"):
                    layer(world, 1.0, backward=True)
                world.collective(
                    "_reduce_scatter_base",
                    380,
                    kernel=SCATTER,
                    stream=22,
                    after=world.busy_until[7],
                    dtype="Float",
                    size=8,
                )
        update(world, dur=700)
    return world


def _one_queue() -> Clocked:
    """FSDP on AMD: streams share a hardware queue, so gathers that nothing waits for stand between kernels of the layers."""
    world = Clocked(top={"distributedInfo": {"backend": "nccl", "rank": 0, "world_size": 16}})

    def in_line(kind: str, dur: float, stream: int) -> None:
        after = max(world.busy_until.values(), default=0)
        world.busy_until[7] = world.collective(kind, dur, kernel=GENERIC, stream=stream, after=after)

    def product(dur: float, host: float = 24) -> None:
        world.kernel_of("aten::linear/aten::mm", CIJK, dur, host=host)

    for _ in world.steps(3):
        world.load(60, workers=4)
        in_line("_allgather_base", 700, 20)
        for _ in range(10):
            in_line("_allgather_base", 700, 20)
            for dur in (420, 300, 640, 640):
                product(dur)
                world.kernel_of("aten::mul", ADD, 30, host=20)
            world.kernel_of("aten::_scaled_dot_product_flash_attention", "attn_fwd", 330, host=40)
        with world.backward():
            for _ in range(10):
                in_line("_allgather_base", 700, 20)
                with world.node("MmBackward0"):
                    for dur in (840, 600, 1_280, 1_280):
                        product(dur)
                    world.kernel_of(
                        "aten::_scaled_dot_product_flash_attention_backward", "bwd_kernel_dk_dv", 800, host=40
                    )
                in_line("_reduce_scatter_base", 800, 22)
        update(world, dur=900)
    return rocm(world)  # type: ignore[return-value]


def _barrier_before_loss() -> Clocked:
    """CLIP4Clip: features are gathered from all ranks, all wait at a barrier, and each computes all of the similarities."""
    world = Clocked(top=RANKS)
    for _ in world.steps(5):
        world.load(140, workers=8)
        world.copied("HtoD", 60 << 20, pinned=True)
        with world.inside("DistributedDataParallel.forward"):
            layers(world, 12)
            for _ in range(3):
                world.busy_until[7] = world.collective(
                    "allgather", 260, kernel=GATHER, after=world.busy_until[7], elements=1 << 20, size=8
                )
                world.kernel_of("aten::cat", ADD, 20)
            world.collective(
                "barrier", 6_500, kernel=REDUCE, after=world.busy_until[7], elements=1, dtype="Float", size=8
            )
            world.synchronize("cudaStreamSynchronize")
            world.kernel_of("aten::matmul/aten::mm", NVJET, 900)
            world.kernel_of("aten::log_softmax/aten::_log_softmax", ADD, 160)
        for part in range(3):
            layers_back(world, 4)
            beside = world.busy_until[7] - (3_000 if part < 2 else 300)
            end = world.collective("allreduce", 1_600, kernel=REDUCE, stream=21, after=beside, dtype="Float", size=8)
        world.busy_until[7] = max(world.busy_until[7], end)
        update(world, "BertAdam", dur=1_100)
    return world


STORIES = (
    Story(
        "replicas reduced for each micro-batch", "world model, FSDP2, HSDP", GITHUB + "NVIDIA/cosmos-framework/issues/161",
        "gradients are reduced over nodes for each micro-batch: set_requires_all_reduce(False) but for the last", _replicas_reduced,
        bound=("communication", "mixed"), told=("CO001", "~set_requires_(all_reduce|gradient_sync)"),
        never=("~bucket_cap_mb", "~model\\.no_sync", "DL001", "~find_unused"),
    ),
    Story(
        "greatest values one by one", "LLM pretraining, float8, FSDP2", GITHUB + "meta-pytorch/float8_experimental/pull/266",
        "an all-reduce of one number for each weight: one for all, behind the update", _greatest_one_by_one,
        bound=("launch", "communication", "mixed", "compute"), told=("CO005", "~precompute_float8|one all-reduce|together|at once"),
        never=("DL001", "PR001", "~bucket_cap_mb", "~tensor parallelism"),
    ),
    Story(
        "streams on one hardware queue", "LLM pretraining, FSDP, ROCm", GITHUB + "pytorch/torchtitan/pull/4032",
        "streams share a queue, so nothing overlaps: GPU_MAX_HW_QUEUES", _one_queue, bound=("communication", "compute", "mixed"),
        told=("CO001|CO002", "~GPU_MAX_HW_QUEUES|hardware queue"), never=("~bucket_cap_mb", "~NVLink|InfiniBand", "DL001"),
    ),
    Story(
        "barrier in front of the loss", "video and text, DDP", GITHUB + "ArrowLuo/CLIP4Clip/issues/101",
        "all ranks wait at a barrier that nothing needs, and each computes all similarities", _barrier_before_loss,
        bound=("communication", "sync", "compute", "mixed"), told=("~barrier",),
        never=("~bucket_cap_mb", "~no_sync", "DL001", "CO005"),
    ),
)  # fmt: skip
