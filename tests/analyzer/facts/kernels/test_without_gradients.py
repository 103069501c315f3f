"""Forward passes of which no gradient is taken: told by sequence numbers, and by nothing where those do not tell."""

from __future__ import annotations

import pytest

from analyzer.facts import Facts
from building.clocked import Clocked
from known.sayings import explained
from stories.models import layer, layers, layers_back, update


def world(*, besides: str, trained: bool = True) -> Clocked:
    """Four steps of a model of six layers, and as many layers of another one before it.

    Args:
        besides: How those run: under `no_grad`; `frozen`, with weights that want no gradient; or `trained` as well.
        trained: Whether the model is trained, or only runs.
    """
    program = Clocked()
    for _ in program.steps(4):
        program.recorded = besides == "trained"
        if besides == "frozen":
            before = program._sequence
            for _ in range(6):
                program.recorded, program._sequence = True, before
                layers_of_one_number(program)
        else:
            layers(program, 6)
        program.recorded = True
        layers(program, 6)
        program.recorded = False
        if trained:
            layers_back(program, 6)
            update(program, dur=100)
    return program


def layers_of_one_number(program: Clocked) -> None:
    """A layer whose ops all carry the number that the next recorded op will take."""
    number = program._sequence + 1
    first = len(program.events)
    layers(program, 1)
    for event in program.events[first:]:
        if "Sequence number" in event.get("args", {}):
            event["args"]["Sequence number"] = number
    program._sequence = number - 1


@pytest.mark.parametrize(
    ("besides", "trained", "ratio"),
    [("no_grad", True, 0.25), ("frozen", True, 0.25), ("trained", True, 0.0), ("no_grad", False, 0.0)],
)
def test_layers_without_gradients(besides: str, trained: bool, ratio: float) -> None:
    program = world(besides=besides, trained=trained)
    facts = Facts(program.trace())
    part = facts.kernels.without_gradients.total_ns / facts.time.waterfall.owned("compute").total_ns
    # Ops between layers, as additions, are no layer's.
    assert part == pytest.approx(ratio, abs=0.03)
    assert ("without gradients" in explained(program).summary.verdict.text) is (ratio > 0)


def written_in_python(name: str, *, taken: bool) -> Clocked:
    """Four steps of layers inside an autograd function of that name, whose node is in the backward pass or is not, and a head."""
    program = Clocked()
    for _ in program.steps(4):
        for _ in range(6):
            with program.within(name):
                layers(program, 1)
        program.recorded = True
        layers(program, 2)
        program.recorded = False
        layers_back(program, 2)
        with program.backward():
            for _ in range(6):
                with program.node(f"{name}Backward" if taken else "MmBackward0"):
                    layer(program, 2, backward=True)
        update(program, dur=100)
    return program


@pytest.mark.parametrize("name", ["CheckpointFunction", "MatMul4Bit"])
@pytest.mark.parametrize(("taken", "ratio"), [(True, 0.0), (False, 0.24)])
def test_what_an_autograd_function_computes_has_gradients_by_its_own_node(name: str, taken: bool, ratio: float) -> None:
    program = written_in_python(name, taken=taken)
    facts = Facts(program.trace())
    part = facts.kernels.without_gradients.total_ns / facts.time.waterfall.owned("compute").total_ns
    assert part == pytest.approx(ratio, abs=0.03)
    assert ("without gradients" in explained(program).summary.verdict.text) is (ratio > 0)
