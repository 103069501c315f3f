"""XF004: one tensor a step is zeroed on the host and then moved to the device."""

from __future__ import annotations

import pytest

from analyzer.finding import State, Table
from building.builders import TraceBuilder
from rules.transfer.made_on_host import RULE
from running.one_rule import judged, run

SHAPE = {"Input Dims": [[64, 10]], "Input type": ["float"]}


def world(
    *,
    every: int = 1,
    steps: int = 4,
    filling: str = "aten::zero_",
    between: bool = False,
    moved: list[int] | None = None,
    shapes: bool = True,
) -> TraceBuilder:
    """Steps of 10 ms: fill (100 us), move (500 us), then a kernel; only in every `every`-th step."""
    builder = TraceBuilder(top={"record_shapes": 1} if shapes else None)
    given = SHAPE if shapes else {}
    moving = {**SHAPE, "Input Dims": [moved]} if moved else given
    for number in range(steps):
        at = number * 10_000
        builder.step(number, at, 10_000)
        if number % every == 0:
            builder.op("aten::zeros", at, 100)
            builder.op(filling, at + 50, 40, **given)
            if between:
                builder.op("aten::view", at + 105, 10, **given)
            builder.op("aten::to", at + 120, 480, **moving)
            builder.op("aten::_to_copy", at + 130, 460, **moving)
            builder.copy("HtoD", at + 150, 400, start=at + 500, dur=40, size=2_560)
        builder.launch(at + 600, kernel_start=at + 610, kernel_dur=9_390)
    return builder


def test_fires_with_the_idle_time_of_making_and_moving() -> None:
    found = judged(RULE, world())
    # From the start of the fill (50 us) to the end of the move (600 us), the gap between them excepted: no op runs in 20 us of it.
    assert 500_000 <= found.usual_ns_per_step <= 550_000
    assert found.finding.steps_seen == 4
    assert found.finding.why.startswith("1 tensor a step filled on the host and then copied")


def test_what_fills_is_told_the_commonest_first_and_no_more_than_five() -> None:
    builder = TraceBuilder(top={"record_shapes": 1})
    filling = [f"aten::{name}" for name in ("zero_", "fill_", "normal_", "uniform_", "arange", "full")]
    # The first fills one tensor of the step, the second two, and so on.
    made = [name for times, name in enumerate(filling, start=1) for _ in range(times)]
    builder.step(0, 0, 30_000)
    for number, name in enumerate(made):
        at = number * 1_000
        builder.op(name, at + 50, 40, **SHAPE)
        builder.op("aten::to", at + 120, 480, **SHAPE)
        builder.copy("HtoD", at + 150, 400, start=at + 500, dur=40, size=2_560)
        builder.launch(at + 600, kernel_start=at + 610, kernel_dur=300)
    (table,) = judged(RULE, builder).finding.evidence
    assert isinstance(table, Table)
    assert table.rows == tuple((name, times) for times, name in reversed(list(enumerate(filling, start=1))))[:5]


@pytest.mark.parametrize(("every", "state"), [(1, State.FIRED), (2, State.CLEAR)])
def test_boundary(every: int, state: State) -> None:
    assert run(RULE, world(every=every)).state is state


def test_quiet_when_something_else_comes_before_the_move() -> None:
    assert run(RULE, world(between=True)).state is State.CLEAR


def test_quiet_when_the_tensor_is_computed() -> None:
    assert run(RULE, world(filling="aten::add")).state is State.CLEAR


def test_quiet_when_another_shape_is_moved() -> None:
    assert run(RULE, world(moved=[64, 20])).state is State.CLEAR


def test_cannot_tell_without_shapes() -> None:
    result = run(RULE, world(shapes=False))
    assert result.state is State.CANNOT_TELL
    assert "record_shapes=True" in result.reason
