"""OP001 where the update decomposes matrices: less often, not in lists."""

from __future__ import annotations

import pytest

from analyzer.finding import State
from building.clocked import Clocked
from rules.optimizer.per_parameter_updates import RULE
from running.one_rule import judged, run
from stories.models import ADD, SGEMM


def world(op: str | None, *, device: str | None = "cuda", name: str = "Shampoo", matrices: int = 40) -> Clocked:
    """Steps of a product and an update that takes an op of each matrix, then adds it."""
    found = Clocked(device)
    for _ in found.steps(4):
        found.kernel_of("aten::mm", SGEMM, 8_000) if device else found.host_op("aten::mm", 8_000)
        begin = found.now
        for _ in range(matrices):
            if op is not None:
                found.kernel_of(op, "syevj<float>(p)", 90, host=200) if device else found.host_op(op, 200)
            for path in ("aten::mul", "aten::add_"):
                found.kernel_of(path, ADD, 3) if device else found.host_op(path, 12)
        found.optimizer(begin, found.now - begin, name)
    return found


@pytest.mark.parametrize("device", ["cuda", None])
@pytest.mark.parametrize("op", ["aten::linalg_eigh", "aten::linalg_inv_ex", "aten::linalg_qr"])
def test_decompositions_are_named_with_their_number(op: str, device: str | None) -> None:
    found = judged(RULE, world(op, device=device)).finding
    assert found.why.startswith(f"Shampoo.step decomposes matrices: `{op}` 40 times a step; ")
    assert "precondition_frequency=50" in found.fix[0].code
    assert not any("_foreach_" in fix.code for fix in found.fix)


def test_without_them_lists_are_the_advice() -> None:
    found = judged(RULE, world(None, matrices=200)).finding
    assert found.title is None
    assert any("_foreach_" in fix.code for fix in found.fix)


def test_an_op_of_another_kind_is_no_decomposition() -> None:
    assert judged(RULE, world("aten::linalg_vector_norm")).finding.title is None


def test_few_small_ones_are_no_finding() -> None:
    assert run(RULE, world("aten::linalg_eigh", matrices=1)).state is not State.FIRED
