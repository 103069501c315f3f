"""PR004 where conversions are copies of gradients in front of the update, and where the model makes them."""

from __future__ import annotations

import pytest

from building.clocked import Clocked
from rules.precision.cast_churn import RULE
from running.one_rule import judged
from stories.models import layers, layers_back, update

CAST = (
    "void at::native::unrolled_elementwise_kernel<at::native::bfloat16_copy_kernel_cuda(at::TensorIteratorBase&)>(int)"
)


@pytest.mark.parametrize("of_updates", [True, False])
def test_advice_by_where_conversions_are_made(of_updates: bool) -> None:
    world = Clocked()

    def converted() -> None:
        for _ in range(100):
            world.kernel_of("aten::to/aten::_to_copy/aten::copy_", CAST, 10, host=24)

    for _ in world.steps(4):
        if not of_updates:
            converted()
        layers(world, 4, 0.4)
        layers_back(world, 4, 0.8)
        if of_updates:
            converted()
        update(world, dur=300)
    code = judged(RULE, world).finding.fix[0].code
    assert ("_foreach_copy_" in code) is of_updates
    assert ("x.float()" in code) is not of_updates
