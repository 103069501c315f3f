"""ID001 where a model that is only run computes its weights from their norms in each pass."""

from __future__ import annotations

import pytest

from building.clocked import Clocked
from rules.idle.launch_bound import RULE
from running.one_rule import judged


def world(*, norms: int, trains: bool = False, nested: bool = True) -> Clocked:
    """Six passes of 40 convolutions, the first so many with weight norm."""
    world = Clocked(marks=trains)
    for number in world.steps(6):
        with world.inside(f"chunk {number}"):
            for index in range(40):
                if index < norms:
                    path = (
                        "aten::_weight_norm/aten::_weight_norm_interface" if nested else "aten::_weight_norm_interface"
                    )
                    world.kernel_of(path, "weight_norm_fwd_first_dim_kernel<float, float>", 6, host=26)
                world.kernel_of("aten::conv1d/aten::cudnn_convolution", "conv1d_grouped_direct_kernel", 12, host=36)
            if trains:
                world.optimizer(world.now, 50)
                world.now += 60
    return world


@pytest.mark.parametrize("nested", [True, False])
def test_weights_that_never_change_are_folded_once(nested: bool) -> None:
    first = judged(RULE, world(norms=40, nested=nested)).finding.fix[0]
    assert "remove_parametrizations" in first.code
    assert "remove_weight_norm(layer)" in first.code
    assert first.note.startswith("40 weights a request are computed from their norms")


@pytest.mark.parametrize(
    "without", [world(norms=40, trains=True), world(norms=2), world(norms=0)], ids=["trained", "two layers", "none"]
)
def test_weights_that_are_trained_or_that_hardly_any_layer_norms_are_left(without: Clocked) -> None:
    assert not any("weight_norm" in fix.code for fix in judged(RULE, without).finding.fix)
