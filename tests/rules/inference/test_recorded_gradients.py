"""IN007: a model that is only run, layer by layer, while autograd records."""

from __future__ import annotations

import pytest

from analyzer.finding import Severity, State
from building.builders import TraceBuilder
from rules.inference.recorded_gradients import RULE
from running.one_rule import judged, run


def world(
    *,
    recorded: bool = True,
    frozen: bool = False,
    steps: int = 3,
    trains: bool = False,
    layers: int = 20,
    name: str = "aten::linear",
) -> TraceBuilder:
    """Steps of one forward pass each.

    Args:
        recorded: Whether ops carry numbers: outside `no_grad`.
        frozen: Whether no weight wants a gradient, so that none takes a number.
        steps: How many.
        trains: Whether a backward pass is in them.
        name: What each of the 20 layers is.
    """
    builder = TraceBuilder(None)
    number = 0
    for step in range(steps):
        at = step * 10_000.0
        builder.step(step, at, 10_000)
        for index in range(20):
            number += not frozen
            builder.op(name, at + 10 + 100 * index, 90, **({"Sequence number": number} if recorded else {}))
        if trains:
            builder.op("autograd::engine::evaluate_function: AddmmBackward0", at + 5_000, 100, thread=7)
    return builder


def test_fires_as_a_note_that_claims_no_time() -> None:
    found = judged(RULE, world())
    assert found.severity is Severity.INFO
    assert found.ns_per_step == 0
    assert "60 of 60 layers" in found.finding.why
    assert "in 3 steps" in found.finding.why


@pytest.mark.parametrize(
    ("changes", "state"),
    [
        ({"recorded": False}, State.CLEAR),
        ({"frozen": True}, State.CLEAR),
        ({"trains": True}, State.NOT_APPLICABLE),
        ({"name": "aten::add"}, State.NOT_APPLICABLE),
        # Its backward pass may come behind the recording.
        ({"steps": 1}, State.CANNOT_TELL),
    ],
)
def test_quiet(changes: dict[str, object], state: State) -> None:
    assert run(RULE, world(**changes)).state is state  # type: ignore[arg-type]
