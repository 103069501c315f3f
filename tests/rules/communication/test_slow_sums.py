"""CO001: large sums that travel slower than between devices of one machine are told to be waiting, or a slow network."""

from __future__ import annotations

import pytest

from building.clocked import Clocked
from rules.communication.exposed import RULE
from running.one_rule import judged
from stories.models import GATHER, RANKS, layers, layers_back, update

REDUCE = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"


def summed(dur: float, kind: str = "allreduce", kernel: str = REDUCE) -> Clocked:
    """64 MiB behind each backward pass, in so many microseconds."""
    world = Clocked(top=RANKS)
    for _ in world.steps(4):
        layers(world, 4)
        layers_back(world, 4)
        after = world.busy_until[7]
        world.busy_until[7] = world.collective(
            kind, dur, kernel=kernel, after=after, elements=16 << 20, dtype="Float", size=8
        )
        update(world)
    return world


@pytest.mark.parametrize(("dur", "slow"), [(60_000, True), (36_000, True), (30_000, False), (8_000, False)])
def test_the_rate_tells_what_one_machine_cannot_need(dur: float, slow: bool) -> None:
    why = judged(RULE, summed(dur)).finding.why
    assert "cannot tell waiting for another rank" in why
    assert ("GB/s: devices of one machine reach several times that" in why) is slow


def test_of_what_is_gathered_one_ranks_tensor_tells_no_rate() -> None:
    assert "GB/s" not in judged(RULE, summed(60_000, "_allgather_base", GATHER)).finding.why
