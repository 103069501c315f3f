"""PY001: behind sizes that a model reads between its layers no simulator is stepped; behind values it may be."""

from __future__ import annotations

import pytest

from building.clocked import Clocked
from rules.python.python_overhead import RULE
from running.one_rule import judged
from stories.models import ADD, layer, layers_back, update


@pytest.mark.parametrize(("op", "sized"), [("aten::nonzero", True), ("aten::item/aten::_local_scalar_dense", False)])
def test_a_simulator_is_named_where_values_are_read_and_not_sizes(op: str, sized: bool) -> None:
    world = Clocked()
    for _ in world.steps(5):
        for _ in range(24):
            layer(world, 0.25)
            world.kernel_of("aten::ne", ADD, 3)
            world.read_value(op)
            world.idle(150)
        layers_back(world, 24, 0.5)
        update(world)
    said = " ".join(one.code for one in judged(RULE, world).finding.fix)
    assert ("AsyncVectorEnv" in said) is not sized
    assert ("between its layers" in said) is sized


@pytest.mark.parametrize("copied", [True, False])
def test_values_that_a_metric_looks_at_may_be_looked_at_a_step_late(copied: bool) -> None:
    world = Clocked()
    for _ in world.steps(6):
        world.load(200, workers=4)
        for _ in range(12):
            layer(world, 0.5)
        layers_back(world, 12, 1.0)
        update(world)
        if copied:
            world.copied("DtoH", 256_000)
        # Without a copy the host is ahead by the length of a step.
        world.idle(14_000 if copied else 60_000)
    said = " ".join(one.code for one in judged(RULE, world).finding.fix)
    assert ("score(before[1])" in said) is copied
