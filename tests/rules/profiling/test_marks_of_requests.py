"""PG001: a program that only runs its model is shown how to mark its own loop, not one that trains."""

from __future__ import annotations

from building.builders import TraceBuilder
from building.clocked import Clocked
from rules.profiling.missing_step_marks import RULE
from running.one_rule import judged
from stories.models import layers, layers_back, update


def world(*, trains: bool) -> TraceBuilder:
    world = Clocked(marks=False)
    for _ in world.steps(4):
        layers(world, 4)
        if trains:
            layers_back(world, 4)
            update(world)
    return world


def test_the_loop_to_mark_is_one_that_the_program_has() -> None:
    assert "train_step(batch)" in judged(RULE, world(trains=True)).finding.fix[0].code
    assert "train_step" not in judged(RULE, world(trains=False)).finding.fix[0].code
