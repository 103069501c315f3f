"""KE003, PY002: rows that the program selects itself are no embedding, and calls for one tensor after another no loop over one."""

from __future__ import annotations

import pytest

from analyzer.finding import State
from building.builders import TraceBuilder
from building.clocked import Clocked
from rules.kernels.gather_bound import RULE
from rules.python.element_loop import RULE as ELEMENTS
from running.one_rule import judged, run
from stories.models import NVJET

SELECT = (
    "void at::native::(anonymous namespace)::indexSelectLargeIndex<c10::Half, long, unsigned int, 2, 2, -2, true>(p)"
)


def world(op: str, *, then: str | None = None) -> TraceBuilder:
    """Four passes of 20 products and 40 gathers by an op, as for the cache of each layer; `then` is an op behind each."""
    world = Clocked()
    for _ in world.steps(4):
        for _ in range(20):
            world.kernel_of("aten::linear/aten::mm", NVJET, 100)
        for _ in range(40):
            world.kernel_of(op, SELECT, 60)
            if then is not None:
                world.kernel_of(then, "void at::native::reduce_kernel<512, 1>", 4)
        world.synchronize("cudaStreamSynchronize")
    return world


@pytest.mark.parametrize(
    ("op", "tables"), [("aten::index_select", False), ("aten::embedding/aten::index_select", True)]
)
def test_fused_lookups_are_advised_for_embeddings_alone(op: str, *, tables: bool) -> None:
    text = "".join(advice.code for advice in judged(RULE, world(op)).finding.fix)
    assert ("SplitTable" in text) is tables
    assert ("beam" in text) is not tables


def test_nothing_of_a_backward_pass_is_said_to_a_program_without_one() -> None:
    found = judged(RULE, world("aten::embedding/aten::index_select")).finding
    assert "backward" not in "".join(advice.note for advice in found.fix)


@pytest.mark.parametrize(("then", "fires"), [("aten::sum", True), (None, False)])
def test_rows_of_one_tensor_after_another_are_no_elements(then: str | None, *, fires: bool) -> None:
    assert run(ELEMENTS, world("aten::index_select", then=then)).state is (State.FIRED if fires else State.CLEAR)
