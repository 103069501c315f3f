"""SY001: where most values that are read are norms, one by one, they are to be computed and read together."""

from __future__ import annotations

import pytest

from building.clocked import Clocked
from rules.sync.scalar_read import RULE
from running.one_rule import judged
from stories.models import ADD, layers, layers_back, update


@pytest.mark.parametrize(("op", "said"), [("aten::linalg_vector_norm", "_foreach_norm"), ("aten::sum", "total_loss")])
def test_norms_are_read_together(op: str, said: str) -> None:
    world = Clocked()
    for _ in world.steps(5):
        layers(world, 4)
        layers_back(world, 4)
        for _ in range(200):
            world.kernel_of(op, ADD, 6, host=16)
            world.read_value()
        update(world)
    assert said in judged(RULE, world).finding.fix[0].code
