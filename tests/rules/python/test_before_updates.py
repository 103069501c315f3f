"""PY001 between the backward pass and the update: no data is prepared there; where norms are, gradients are clipped."""

from __future__ import annotations

import pytest

from building.clocked import Clocked
from rules.python.python_overhead import RULE
from running.one_rule import judged
from stories.models import ADD, layers, layers_back, update

NORM = (
    "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::NormTwoOps<float, float, float>>>"
)


def world(*, norms: bool, ahead: bool = False) -> Clocked:
    """Python between small ops, 200 times a step: behind the backward pass, or ahead of the forward pass."""
    program = Clocked()

    def small() -> None:
        for _ in range(200):
            program.idle(140)
            program.kernel_of("aten::linalg_vector_norm" if norms else "aten::mul", NORM if norms else ADD, 4)
        for _ in range(200):
            program.idle(140)
            program.kernel_of("aten::mul_", ADD, 4)

    for _ in program.steps(4):
        program.load(80, workers=4)
        if ahead:
            small()
        program.copied("HtoD", 4 << 20, pinned=True)
        layers(program, 4)
        layers_back(program, 4)
        if not ahead:
            small()
        update(program, dur=300)
    return program


@pytest.mark.parametrize(
    ("norms", "ahead", "clipped"),
    [(True, False, True), (False, False, False), (False, True, False), (True, True, False)],
)
def test_advice_by_the_place(norms: bool, ahead: bool, clipped: bool) -> None:
    found = judged(RULE, world(norms=norms, ahead=ahead)).finding
    text = "\n".join(f"{one.code}\n{one.note}" for one in found.fix)
    # Ahead of the forward pass as well kernels run between, and nothing is sent but the batch.
    assert "prepare" not in text
    assert ("to_local" in text) is clipped
    assert ("between the backward pass and the update" in found.why) is not ahead


@pytest.mark.parametrize(
    ("name", "loader"), [("DeepSpeedZeroOptimizer.step", False), ("## backward ##", False), ("prepare_inputs", True)]
)
def test_a_range_named_after_an_update_prepares_no_batch(name: str, *, loader: bool) -> None:
    """An update of a library that marks no `Optimizer.step`, and works on the host; or a range of any other name."""
    program = Clocked()
    for _ in program.steps(4):
        program.load(80, workers=4)
        layers(program, 6)
        program.synchronize()
        with program.inside(name):
            program.idle(8_000)
            program.copied("HtoD", 4 << 20, pinned=True)
    text = "\n".join(f"{one.code}\n{one.note}" for one in judged(RULE, program).finding.fix)
    assert ("prepare(" in text) is loader


@pytest.mark.parametrize("behind", [True, False])
def test_a_named_place_behind_the_backward_pass_prepares_no_batch(behind: bool) -> None:
    """States that an optimizer reads from a disk, in a function that the stacks name."""
    program = Clocked()
    for _ in program.steps(4):
        if behind:
            layers(program, 4)
            layers_back(program, 4)
        with program.stack("train.py(9): main", "train.py(30): fetch"):
            program.idle(90_000)
        program.copied("HtoD", 4 << 20, pinned=True)
        if not behind:
            layers(program, 4)
            layers_back(program, 4)
        update(program, dur=300)
    found = judged(RULE, program).finding
    assert any("DataLoader(" in fix.code for fix in found.fix) is not behind
    assert any("No DataLoader was seen" in caveat for caveat in found.caveats) is not behind
