"""PY005: a step that is left out of the figures for its many ops saves a state, where it copies that and computes nothing more."""

from __future__ import annotations

import pytest

from analyzer.finding import Finding
from building.clocked import Clocked
from rules.python.unsteady_steps import RULE
from running.one_rule import run
from stories.models import layers, layers_back, update


def world(*, size: int = 2 << 20, computes: int = 0, holding: tuple[int, ...] = (3,)) -> Clocked:
    """Steps of 10 ms; some of them copy 200 tensors to the host and write each.

    Args:
        size: Bytes of a tensor.
        computes: Forward passes of the model that run meanwhile.
        holding: The steps that do.
    """
    built = Clocked()
    for number in built.steps(8):
        layers(built, 6, 0.3)
        layers_back(built, 6, 0.6)
        update(built)
        if number in holding:
            for _ in range(computes):
                layers(built, 6, 0.3)
            for _ in range(200):
                built.copied("DtoH", size, rate=3_000, path="aten::cpu/aten::to/aten::_to_copy/aten::copy_")
                built.idle(700)
    return built


def found(built: Clocked) -> Finding:
    (one,) = run(RULE, built).findings
    return one


@pytest.mark.parametrize(("holding", "said"), [((3,), "copies 400 MiB"), ((2, 5), "copy 800 MiB")])
def test_a_step_that_copies_a_state_and_computes_no_more_saves_it(holding: tuple[int, ...], said: str) -> None:
    one = found(world(holding=holding))
    assert one.title == "Some steps save a state"
    assert f"{said} to the host, as before a checkpoint is written" in one.why
    assert "another loop" not in one.why
    assert "save(model, step)" in one.fix[0].code
    assert "rollout" not in "".join(advice.code for advice in one.fix)


@pytest.mark.parametrize("arguments", [{"computes": 12}, {"size": 2 << 10}])
def test_answers_of_another_loop_are_no_state(arguments: dict[str, int]) -> None:
    """An evaluation runs its model for what it copies, and metrics are small."""
    one = found(world(**arguments))
    assert one.title == "Some steps hold another loop"
    assert "checkpoint" not in one.why
