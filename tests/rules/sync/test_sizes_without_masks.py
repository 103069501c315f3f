"""SY004's fixes fit the op: nothing is multiplied by a mask where tokens are counted."""

from __future__ import annotations

import pytest

from building.clocked import Clocked
from rules.sync.dynamic_shape import RULE
from running.one_rule import judged
from stories.models import ADD, layers

OPS = [("aten::bincount", False), ("aten::_unique2", False), ("aten::index", True), ("both", True)]


@pytest.mark.parametrize(("op", "masked"), OPS)
def test_a_mask_only_where_something_is_selected(op: str, masked: bool) -> None:
    world = Clocked()
    for _ in world.steps(4):
        for _ in range(20):
            layers(world, 1, 0.1)
            for name in ("aten::bincount", "aten::index") if op == "both" else (op,):
                with world.within(name):
                    world.read_value("aten::item/aten::_local_scalar_dense")
                    world.kernel_of(None, ADD, 5)
    code = "\n".join(one.code for one in judged(RULE, world).finding.fix)
    assert ("mask" in code) is masked
    assert op == "both" or ("index_add_" in code) is (op == "aten::bincount")
    assert ("seen.cumsum" in code) is (op == "aten::_unique2")
