"""CO001, CO002: gradients that DeepSpeed or Horovod reduces are theirs to hide: no DistributedDataParallel."""

from __future__ import annotations

import pytest

from building.builders import TraceBuilder
from building.clocked import Clocked
from rules.communication.exposed import RULE as EXPOSED
from rules.communication.poor_overlap import RULE as OVERLAP
from running.one_rule import judged
from stories.models import AMPERE, update

REDUCED = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)"


def world(frame: str) -> TraceBuilder:
    """Four steps: a backward pass, then a reduction that a frame of Python asks for, with nothing beside it."""
    world = Clocked(top={"distributedInfo": {"backend": "nccl", "rank": 0, "world_size": 8}})
    for _ in world.steps(4):
        with world.backward():
            for _ in range(20):
                with world.node("MmBackward0"):
                    world.kernel_of("aten::mm", AMPERE, 1_000)
        with world.stack(frame):
            world.busy_until[7] = world.collective(
                "allreduce", 9_000, kernel=REDUCED, after=world.busy_until[7], size=8
            )
        update(world)
        world.read_value()
    return world


def said(frame: str) -> str:
    fixes = [advice for rule in (EXPOSED, OVERLAP) for advice in judged(rule, world(frame)).finding.fix]
    return "\n".join(f"{advice.code}\n{advice.note}" for advice in fixes)


@pytest.mark.parametrize(
    ("frame", "words"),
    [
        ("deepspeed/runtime/zero/stage_1_and_2.py(1154): average_tensor", '"overlap_comm": True'),
        ("/opt/lib/python3.11/site-packages/deepspeed/runtime/engine.py(2012): allreduce", '"overlap_comm": True'),
        ("horovod/torch/optimizer.py(271): synchronize", "HOROVOD_CYCLE_TIME"),
    ],
)
def test_a_library_that_reduces_gradients_is_told_in_its_own_words(frame: str, words: str) -> None:
    text = said(frame)
    assert words in text
    assert "DistributedDataParallel(" not in text
    assert "async_op" not in text


@pytest.mark.parametrize("frame", ["train.py(20): reduce_gradients", "deepspeed/train.py(20): reduce_gradients"])
def test_a_program_that_reduces_gradients_itself_may_wrap_its_model(frame: str) -> None:
    text = said(frame)
    assert "DistributedDataParallel(" in text
    assert "ds_config" not in text
    assert "HOROVOD" not in text


@pytest.mark.parametrize(("ranges", "ops", "own"), [(True, True, True), (False, False, True), (False, True, False)])
def test_what_calls_nothing_of_torch_is_not_told_to_call_it_otherwise(*, ranges: bool, ops: bool, own: bool) -> None:
    """Horovod without stacks: its thread launches NCCL's kernels, and torch.distributed has no range on the host."""
    builder = TraceBuilder()
    for number in range(3):
        at = number * 100_000.0
        builder.step(number, at, 100_000)
        builder.launch(at + 50, kernel_start=at + 100, kernel_dur=60_000, op="aten::mm" if ops else None)
        if ops:
            builder.zero_grad(at + 10, 20)
        if ranges:
            builder.annotation("nccl:all_reduce", at + 100, 20)
        builder.launch(at + 105, kernel_start=at + 60_200, kernel_dur=39_000, name=REDUCED, stream=20, op=None)
    text = "\n".join(fix.code for fix in judged(OVERLAP, builder).finding.fix)
    assert ("torch.distributed.all_reduce(" in text) is own
    assert ("torch.distributed would leave a range" in text) is not own
