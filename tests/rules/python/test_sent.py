"""Host code between steps: it may prepare data where something is sent to the device, and none where nothing is."""

from __future__ import annotations

import pytest

from building.clocked import Clocked
from rules.python.python_overhead import RULE
from running.one_rule import judged
from stories.models import blocks, blocks_back, update


def world(sent: str, *, device: str = "cuda") -> Clocked:
    """Eight steps without a loader: 9 ms of host code, a small network and its update; what is `sent` is so behind the code.

    Args:
        sent: `batch`, `nothing`, or `result`, which is copied to the host.
        device: As of the builder.
    """
    world = Clocked(device)
    for _ in world.steps(8):
        world.idle(9_000)
        if sent == "batch":
            world.copied("HtoD", 4 << 20, pinned=True)
        blocks(world, 8, 0.4)
        blocks_back(world, 8, 0.8)
        update(world, "Adam", dur=200)
        if sent == "result":
            world.copied("DtoH", 4)
    return world


@pytest.mark.parametrize("device", ["cuda", "rocm"])
@pytest.mark.parametrize(("sent", "prepares"), [("batch", True), ("nothing", False), ("result", False)])
def test_only_what_is_sent_may_be_prepared(sent: str, device: str, *, prepares: bool) -> None:
    found = judged(RULE, world(sent, device=device)).finding
    assert any("DataLoader" in one.code for one in found.fix) is prepares
    assert any("No DataLoader was seen" in one for one in found.caveats) is prepares
    assert any("--stacks" in one.code for one in found.fix)
