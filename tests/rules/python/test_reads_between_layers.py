"""PY001: a simulator answers the values that are read, and its answers are sent to the device; a model only reads on."""

from __future__ import annotations

import pytest

from building.clocked import Clocked
from rules.python.python_overhead import RULE
from running.one_rule import judged
from stories.models import ADD, layer, layers_back, update


@pytest.mark.parametrize(
    ("op", "answered", "said"),
    [
        ("aten::nonzero", False, "between its layers"),
        ("aten::item/aten::_local_scalar_dense", False, "several times a step while it computes"),
        ("aten::item/aten::_local_scalar_dense", True, "AsyncVectorEnv"),
    ],
)
def test_a_simulator_is_named_where_something_answers_what_was_read(op: str, answered: bool, said: str) -> None:
    world = Clocked()
    for _ in world.steps(5):
        for _ in range(24):
            layer(world, 0.25)
            world.kernel_of("aten::ne", ADD, 3)
            world.read_value(op)
            world.idle(150)
            if answered:
                world.copied("HtoD", 4_096)
        layers_back(world, 24, 0.5)
        update(world)
    codes = " ".join(one.code for one in judged(RULE, world).finding.fix)
    told = ("between its layers", "several times a step while it computes", "AsyncVectorEnv")
    assert [one for one in told if one in codes] == [said]


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
