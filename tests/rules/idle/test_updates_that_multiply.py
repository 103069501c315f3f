"""ID001 and GR004 where most launches are an update's: no graph of the model; matrices together where it multiplies them."""

from __future__ import annotations

import pytest

from analyzer.finding import State
from programs.updating import in_update
from rules.graph.graph_candidate import RULE as GR004
from rules.idle.launch_bound import RULE as ID001
from running.one_rule import judged, run


@pytest.mark.parametrize(("products", "together"), [(True, True), (False, False)])
def test_matrices_are_stacked_where_an_update_multiplies_them(products: bool, together: bool) -> None:
    fix = judged(ID001, in_update(products=products)).finding.fix
    assert ("torch.stack" in fix[0].code) is together
    assert any("AdamW" in one.code for one in fix) is not together


def test_a_graph_of_the_model_is_no_remedy_for_an_update() -> None:
    told = run(GR004, in_update(products=True))
    assert told.state is State.CLEAR
    assert "inside `MuSGD.step`" in told.reason
    assert run(GR004, in_update(products=False, updating=False)).state is State.FIRED
