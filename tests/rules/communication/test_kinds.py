"""CO001, CO005: what helps depends on what the exposed collectives do: barriers, gathers, single numbers, micro-batches, queues."""

from __future__ import annotations

import pytest

from analyzer.facts import Facts
from analyzer.finding import Finding, State
from analyzer.rule import Rule
from building.clocked import Clocked
from building.dialects import rocm
from rules.communication.exposed import RULE
from rules.communication.poor_overlap import RULE as OVERLAP
from rules.communication.small_collectives import RULE as SMALL
from running.one_rule import judged, run
from stories.models import GATHER, NVJET, RANKS, layer, update

REDUCE = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
SCATTER = "ncclDevKernel_ReduceScatter_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"


def text(finding: Finding) -> str:
    return "\n".join(f"{fix.code}\n{fix.note}" for fix in finding.fix)


def beside_ddp(kind: str, kernel: str) -> Clocked:
    """DDP whose forward pass ends with a long collective of some kind."""
    world = Clocked(top=RANKS)
    for _ in world.steps(4):
        with world.inside("DistributedDataParallel.forward"):
            for _ in range(4):
                layer(world)
            world.busy_until[7] = world.collective(kind, 4_000, kernel=kernel, after=world.busy_until[7])
        with world.backward():
            for _ in range(4):
                with world.node("MmBackward0"):
                    layer(world, 2, backward=True)
        world.collective("allreduce", 500, kernel=REDUCE, after=world.busy_until[7] - 2_000)
        update(world)
    return world


@pytest.mark.parametrize(
    ("kind", "kernel", "told", "untold"),
    [
        ("barrier", REDUCE, "-torch.distributed.barrier()", "bucket_cap_mb"),
        ("allgather", GATHER, "--local-loss", "no_sync"),
        ("allreduce", REDUCE, "bucket_cap_mb", "distributed.barrier"),
    ],
)
def test_what_is_exposed_decides(kind: str, kernel: str, told: str, untold: str) -> None:
    said = text(judged(RULE, beside_ddp(kind, kernel)).finding)
    assert told in said
    assert untold not in said


def sharded(micro_batches: int = 1, *, replicas: bool = True) -> Clocked:
    """FSDP2 that reduces each layer's gradients for each micro-batch."""
    world = Clocked(top=RANKS)
    for _ in world.steps(3):
        for _ in range(micro_batches):
            for index in range(4):
                with world.inside(f"FSDP::pre_forward (layers.{index})"):
                    world.collective("_allgather_base", 300, kernel=GATHER)
                layer(world)
            with world.backward():
                for index in range(4):
                    with world.node("MmBackward0"):
                        layer(world, 2, backward=True)
                    with world.inside(f"FSDP::post_backward_reduce (layers.{index})"):
                        made = world.busy_until[7]
                        end = world.collective("_reduce_scatter_base", 900, kernel=SCATTER, stream=22, after=made)
                        if replicas:
                            end = world.collective("allreduce", 6_000, kernel=REDUCE, stream=24, after=end)
            world.busy_until[7] = end + 4_000
            world.collective("_reduce_scatter_base", 4_000, kernel=SCATTER, stream=22, after=end)
        update(world)
    return world


def test_gradients_are_reduced_once_a_step() -> None:
    assert Facts(sharded(4).trace()).communication.reductions_a_step == 4
    said = text(judged(RULE, sharded(4)).finding)
    assert "set_requires_gradient_sync(last)" in said
    assert "set_requires_all_reduce" in said
    assert "model.no_sync" not in said
    assert "set_requires" not in text(judged(RULE, sharded(1)).finding)
    assert "set_requires_all_reduce" not in text(judged(RULE, sharded(4, replicas=False)).finding)


def test_sums_over_replicas_are_no_gathers() -> None:
    said = text(judged(RULE, sharded(1)).finding)
    assert "Sum gradients over replicas less often" in said
    assert "prefetch([following])" not in said
    assert "init_device_mesh" not in said
    alone = text(judged(RULE, sharded(1, replicas=False)).finding)
    assert "over replicas" not in alone
    # What nothing runs beside are the reduce-scatters.
    assert "prefetching parameters hides none of them" in alone


def numbers(elements: int) -> Clocked:
    """FSDP2 with seven all-reduces of so many floats in front of each layer's gather."""
    world = Clocked(top=RANKS)
    for _ in world.steps(3):
        for index in range(6):
            with world.inside(f"FSDP::pre_forward (layers.{index})"):
                for _ in range(7):
                    after = world.busy_until.get(7, 0)
                    world.busy_until[7] = world.collective(
                        "allreduce", 150, kernel=REDUCE, stream=24, after=after, elements=elements, dtype="Float"
                    )
                world.collective("_allgather_base", 300, kernel=GATHER)
            layer(world)
        with world.backward():
            for _ in range(6):
                with world.node("MmBackward0"):
                    layer(world, 2, backward=True)
        update(world)
    return world


def test_a_number_is_no_activation() -> None:
    assert Facts(numbers(1 << 20).trace()).communication.collectives.activations
    assert run(SMALL, numbers(1 << 20)).state is State.NOT_APPLICABLE
    assert not Facts(numbers(1).trace()).communication.collectives.activations
    said = text(judged(SMALL, numbers(1)).finding)
    assert "torch.stack(values)" in said
    assert "fully_shard(block)" not in said


def on_amd(*, beside: bool) -> Clocked:
    """Gathers on a stream of their own, in line with the kernels or beside them."""
    world = Clocked(top=RANKS)
    for _ in world.steps(3):
        for _ in range(8):
            after = 0 if beside else max(world.busy_until.values(), default=0)
            end = world.collective("_allgather_base", 900, kernel=GATHER, after=after)
            world.busy_until[7] = max(world.busy_until.get(7, 0), 0 if beside else end)
            layer(world)
        with world.backward():
            for _ in range(8):
                with world.node("MmBackward0"):
                    layer(world, 2, backward=True)
        world.busy_until[7] = world.collective("_reduce_scatter_base", 3_000, kernel=SCATTER, after=world.busy_until[7])
        update(world)
    return world


def test_streams_of_amd_that_take_turns() -> None:
    in_line = on_amd(beside=False)
    rocm(in_line)
    assert "GPU_MAX_HW_QUEUES" in text(judged(RULE, in_line).finding)
    apart = on_amd(beside=True)
    rocm(apart)
    assert "GPU_MAX_HW_QUEUES" not in text(judged(RULE, apart).finding)
    assert "GPU_MAX_HW_QUEUES" not in text(judged(RULE, on_amd(beside=False)).finding)


@pytest.mark.parametrize(("kind", "kernel"), [("_reduce_scatter_base", SCATTER), ("_allgather_base", GATHER)])
@pytest.mark.parametrize("device", ["cuda", "rocm"])
def test_prefetching_is_advised_where_gathers_are_exposed_and_not_where_gradients_are_scattered(
    kind: str, kernel: str, device: str
) -> None:
    """FSDP2 whose backward pass stands still for each collective."""
    world = Clocked(top=RANKS)
    for _ in world.steps(3):
        with world.backward():
            for index in range(6):
                with world.node("MmBackward0"):
                    layer(world, 2, backward=True)
                with world.inside(f"FSDP::post_backward_reduce (layers.{index})"):
                    end = world.collective(kind, 900, kernel=kernel, stream=22, after=world.busy_until[7])
                    world.busy_until[7] = end
        update(world)
    said = text(judged(OVERLAP, world if device == "cuda" else rocm(world)).finding)  # type: ignore[arg-type]
    scattered = kind == "_reduce_scatter_base"
    assert ("reduce-scatters" in said) is scattered
    assert ("orward_prefetch" in said) is not scattered
    assert ("CUDA_DEVICE_MAX_CONNECTIONS" in said) is (scattered and device == "cuda")


@pytest.mark.parametrize("rule", [RULE, OVERLAP])
@pytest.mark.parametrize("within", [True, False])
def test_what_an_update_gathers_is_sent_in_larger_pieces_and_what_layers_gather_is_not(
    rule: Rule, within: bool
) -> None:
    """Gathers that nothing runs beside, within the update as those of ZeRO 1 and 2, or in front of the layers."""
    world = Clocked(top=RANKS)
    for _ in world.steps(4):
        for index in range(8):
            if not within:
                world.busy_until[7] = world.collective(
                    "_allgather_base", 3_000, kernel=GATHER, after=world.busy_until.get(7, 0)
                )
            layer(world, 1 + index % 2)
        with world.backward():
            for _ in range(8):
                with world.node("MmBackward0"):
                    layer(world, 2, backward=True)
        begin = world.now
        world.kernel_of("aten::_fused_adamw_", NVJET, 500, host=40)
        for _ in range(8 if within else 0):
            world.busy_until[7] = world.collective("_allgather_base", 3_000, kernel=GATHER, after=world.busy_until[7])
        world.optimizer(begin, world.now - begin, "AdamW")
        world.read_value()
    assert ("allgather_bucket_size" in text(judged(rule, world).finding)) is within


def summed(elements: int, *, ddp: bool, dur: float = 900) -> Clocked:
    """Four numbers are summed over all ranks and read behind each forward pass; gradients are reduced beside the backward pass."""
    world = Clocked(top=RANKS)
    for _ in world.steps(4):
        with world.inside("DistributedDataParallel.forward" if ddp else "forward"):
            for _ in range(6):
                layer(world)
        for _ in range(4):
            after = world.busy_until[7]
            end = world.collective("allreduce", dur, kernel=REDUCE, after=after, elements=elements, dtype="Float")
            world.busy_until[7] = end
            world.read_value()
        with world.backward():
            for _ in range(6):
                with world.node("MmBackward0"):
                    layer(world, 2, backward=True)
        world.collective("allreduce", 500, kernel=REDUCE, after=world.busy_until[7] - 2_000)
        update(world)
    return world


@pytest.mark.parametrize("rule", [RULE, OVERLAP])
@pytest.mark.parametrize("ddp", [True, False])
def test_of_a_few_numbers_ranks_wait_and_send_nothing_worth_a_bucket(rule: Rule, ddp: bool) -> None:
    said = text(judged(rule, summed(1, ddp=ddp)).finding)
    assert "waiting for ranks that come later" in said
    assert not any(word in said for word in ("bucket_cap_mb", "no_sync", "compress_hook", "DistributedDataParallel("))
    said = text(judged(rule, summed(8 << 20, ddp=ddp)).finding)
    assert "come later" not in said
    assert "DistributedDataParallel(" in said or "bucket_cap_mb" in said or "Communicate less" in said


def test_of_a_few_numbers_one_rank_tells_that_it_waits() -> None:
    assert "that is waiting for ranks that come later" in judged(RULE, summed(1, ddp=False)).finding.why
    assert "cannot tell waiting" in judged(RULE, summed(8 << 20, ddp=False)).finding.why


def test_many_short_sums_of_numbers_are_no_waiting() -> None:
    world = Clocked(top=RANKS)
    for _ in world.steps(4):
        for _ in range(60):
            layer(world, 0.2)
            after = world.busy_until[7]
            end = world.collective("allreduce", 30, kernel=REDUCE, after=after, elements=1, dtype="Float")
            world.busy_until[7] = end
        update(world)
    found = run(RULE, world).findings
    assert not any("come later" in one.why + text(one) for one in found)
