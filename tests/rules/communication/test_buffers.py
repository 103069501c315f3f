"""CO001's fixes where DistributedDataParallel sends the model's buffers before each forward pass, and where sums are exposed."""

from __future__ import annotations

import pytest

from clocked import Clocked
from rules.communication.exposed import RULE
from stories.models import ADD, blocks, blocks_back
from worlds import judged

BROADCAST = "ncclDevKernel_Broadcast_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
REDUCE = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"


def world(*, buffers: float, sums: float) -> Clocked:
    """Four steps of DDP.

    Args:
        buffers: How long the buffers' broadcast takes in front of each forward pass, in microseconds; 0 without one.
        sums: How long the sum of the gradients takes behind each backward pass.
    """
    program = Clocked(top={"distributedInfo": {"backend": "nccl", "rank": 1, "world_size": 4}})
    for _ in program.steps(4):
        with program.inside("DistributedDataParallel.forward"):
            if buffers:
                with program.within("aten::flatten_dense_tensors"):
                    program.kernel_of("aten::cat", ADD, 6, host=30)
                program.busy_until[7] = program.collective(
                    "broadcast", buffers, kernel=BROADCAST, after=program.busy_until[7], elements=53_120, dtype="Float"
                )
            blocks(program, 30)
        blocks_back(program, 30)
        program.busy_until[7] = program.collective("allreduce", sums, kernel=REDUCE, after=program.busy_until[7])
    return program


@pytest.mark.parametrize(
    ("buffers", "sums", "told", "others"),
    [(6_000, 200, True, False), (6_000, 3_000, True, True), (0, 3_000, False, True), (100, 3_000, False, True)],
)
def test_only_what_is_exposed_gets_a_fix(buffers: float, sums: float, told: bool, others: bool) -> None:
    code = "\n".join(one.code for one in judged(RULE, world(buffers=buffers, sums=sums)).finding.fix)
    assert ("broadcast_buffers=False" in code) is told
    assert ("bucket_cap_mb" in code) is others
    assert ("no_sync" in code) is others
