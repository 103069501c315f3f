"""SY003: an engine that waits for each pass's tokens has a setting for it; waits inside a pass, and loops of one's own, do not."""

from __future__ import annotations

import pytest

from building.clocked import Clocked
from rules.sync.explicit_synchronize import RULE
from running.one_rule import judged
from stories.models import FLASH, NVJET


def served(engine: bool, waits: int = 1) -> Clocked:
    """Passes of vLLM, or of a program's own, replayed in parts; behind each the host waits for the device and works a while."""
    world = Clocked(marks=False)
    for _ in range(24):
        with world.inside("gpu_model_runner: forward" if engine else "forward"):
            for part in range(waits):
                world.graph([(f"{NVJET}_{part}", 25.0), (FLASH, 15.0)] * (32 // waits))
                if part + 1 < waits:
                    world.synchronize("cudaEventSynchronize")
                    world.idle(1_000 / waits)
        world.copied("DtoH", 1_024, pinned=True)
        world.synchronize("cudaEventSynchronize")
        world.idle(1_000 / waits)
    return world


def fixes(world: Clocked) -> list[str]:
    return [one.code for one in judged(RULE, world).finding.fix]


def test_an_engine_is_told_its_own_setting_first() -> None:
    said = fixes(served(engine=True))
    assert "async_scheduling=True" in said[0]
    assert "copied.synchronize()" in said[1]


@pytest.mark.parametrize("world", [served(engine=False), served(engine=True, waits=8)], ids=["own loop", "in a pass"])
def test_what_no_setting_ends_is_changed_in_code(world: Clocked) -> None:
    said = fixes(world)
    assert "copied.synchronize()" in said[0]
    assert "async_scheduling" not in " ".join(said)
