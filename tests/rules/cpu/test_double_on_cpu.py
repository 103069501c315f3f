"""CP004: a model that multiplies 64-bit floats on the CPU."""

from __future__ import annotations

import pytest

from analyzer.finding import Confidence, State
from building.builders import TraceBuilder
from rules.cpu.double_on_cpu import RULE
from running.one_rule import judged, run


def world(*, matrix: float = 5_000, kind: str | None = "double", prepared: str | None = None) -> TraceBuilder:
    """Three steps of 10 ms: something on the input, a product, something else."""
    builder = TraceBuilder(None)
    for number in range(3):
        at = number * 10_000
        builder.step(number, at, 10_000)
        shapes = {"Input Dims": [[64, 128], [128, 10]], "Input type": [kind, kind]} if kind else {}
        rest = {"Input Dims": [[64, 128]], "Input type": [prepared]} if prepared else {}
        builder.op("aten::to", at, 1_000, **rest)
        builder.op("aten::addmm", at + 1_000, matrix, **shapes)
        builder.op("aten::relu", at + 1_000 + matrix, 9_000 - matrix)
    return builder


def test_fires_with_half_of_the_time() -> None:
    found = judged(RULE, world())
    assert found.ns_per_step == 2_500_000
    assert found.confidence is Confidence.MEDIUM
    assert "64-bit floats takes 5.0 ms of each 10 ms step (50 %)" in found.finding.why


@pytest.mark.parametrize(("matrix", "state"), [(390, State.CLEAR), (410, State.FIRED)])
def test_boundary(matrix: float, state: State) -> None:
    assert run(RULE, world(matrix=matrix)).state is state


def test_an_array_that_is_converted_before_the_model_is_no_double_precision() -> None:
    result = run(RULE, world(kind="float", prepared="double"))
    assert result.state is State.CLEAR
    assert "64-bit floats takes 0 % of the step" in result.reason


def test_cannot_tell_without_types() -> None:
    result = run(RULE, world(kind=None))
    assert result.state is State.CANNOT_TELL
    assert "record_shapes=True" in result.reason


@pytest.mark.parametrize(
    ("each", "state"),
    [
        (8, State.FIRED),
        (4, State.CLEAR),
        # Some of both, or of 16 bits: which of them are multiplied is not told.
        (6, State.CANNOT_TELL),
        (2, State.CANNOT_TELL),
        (None, State.CANNOT_TELL),
    ],
)
def test_bytes_of_the_parameters_tell_without_types(each: int | None, state: State) -> None:
    builder = world(kind=None)
    builder.top["advisor"] = {"model": {"parameters": 100, "bytes": each and 100 * each}}
    result = run(RULE, builder)
    assert result.state is state
    if state is State.FIRED:
        assert "(50 %), as each number that the optimizer updates has 8 bytes." in result.findings[0].why
        assert judged(RULE, builder).ns_per_step == 2_500_000


def test_types_of_the_work_itself_come_first() -> None:
    builder = world(kind="float")
    builder.top["advisor"] = {"model": {"parameters": 100, "bytes": 800}}
    assert run(RULE, builder).state is State.CLEAR


def test_not_applicable_on_a_device() -> None:
    builder = TraceBuilder()
    builder.step(0, 0, 1_000).launch(10, kernel_start=20, kernel_dur=900)
    assert run(RULE, builder).state is State.NOT_APPLICABLE
