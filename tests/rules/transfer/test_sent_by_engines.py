"""XF002: what an engine sends in front of each pass is no loader's batch, and no line of its user's sends it."""

from __future__ import annotations

import pytest

from building.clocked import Clocked
from rules.transfer.exposed_input_copies import RULE
from running.one_rule import judged
from stories.models import ADD, FLASH, NVJET


@pytest.mark.parametrize("engine", [True, False])
def test_an_engine_hears_of_no_loader(engine: bool) -> None:
    world = Clocked(marks=False)
    for _ in range(24):
        with world.inside("execute_context_0(0)_generation_8(8)" if engine else "forward"):
            for _ in range(20):
                world.copied("HtoD", 1 << 20, pinned=True, path=None)
            world.graph([(NVJET, 25.0), (FLASH, 15.0), (NVJET, 40.0), (ADD, 3.0)] * 32)
        world.copied("DtoH", 4, pinned=True)
        world.synchronize("cudaEventSynchronize")
    found = judged(RULE, world)
    said = " ".join(one.code for one in found.finding.fix)
    assert ("gpu_memory_utilization" in said) is engine
    assert ("loader" in said) is not engine
    assert (found.finding.title == "Copies to the device delay the kernels") is engine
