"""Where the state of a model is taken: a row of detached tensors, and what comes directly behind it."""

from __future__ import annotations

import pytest

from analyzer.facts import Facts
from building.builders import TraceBuilder

DETACH = "aten::detach"


def behind(*ops: str, receive: int = 4) -> int:
    """Nanoseconds behind a state in a step in which so many tensors receive a gradient, and such ops follow 10 us apart."""
    builder = TraceBuilder(None)
    builder.step(0, 0, 10_000)
    for index in range(receive):
        builder.op("torch::autograd::AccumulateGrad", index * 10, 5)
    for index, name in enumerate(ops):
        builder.op(name, 1_000 + index * 10, 5)
    builder.op("aten::linear", 5_000, 4_000)
    return Facts(builder.trace()).host.behind_state.total_ns


@pytest.mark.parametrize(
    ("ops", "receive", "found"),
    [
        ((DETACH,) * 4, 4, 3_965_000),
        # Buffers are detached as well, and arrays are made of tensors.
        ((*(DETACH,) * 5, "aten::resolve_conj", "aten::resolve_neg"), 4, 3_935_000),
        ((DETACH,) * 3, 4, 0),
        ((DETACH,) * 5, 6, 0),
        # Copies of them, or arithmetic, follow at once.
        ((*(DETACH,) * 4, "aten::copy_"), 4, 5_000),
        ((DETACH, DETACH, "aten::mul", DETACH, DETACH), 4, 0),
        # Of three tensors any handful of values may be as many, and where none receives a gradient there is no telling.
        ((DETACH,) * 4, 3, 0),
        ((DETACH,) * 4, 0, 0),
    ],
)
def test_a_row_of_as_many_tensors_as_receive_a_gradient(ops: tuple[str, ...], receive: int, found: int) -> None:
    assert behind(*ops, receive=receive) == found


@pytest.mark.parametrize(("between", "found"), [("aten::linear", True), ("aten::add", False), (None, False)])
def test_tensors_are_counted_by_the_pass(between: str | None, found: bool) -> None:
    """Gradients that are accumulated over two batches are received twice; what autograd adds up itself ends no pass."""
    builder = TraceBuilder(None)
    builder.step(0, 0, 10_000)
    for index in range(8):
        builder.op("torch::autograd::AccumulateGrad", index * 10, 5)
    if between is not None:
        builder.op(between, 36, 2)
    for index in range(4):
        builder.op(DETACH, 1_000 + index * 10, 5)
    builder.op("aten::linear", 5_000, 4_000)
    assert bool(Facts(builder.trace()).host.behind_state) is found


def test_what_the_recording_ends_with_is_not_known() -> None:
    builder = TraceBuilder(None)
    builder.step(0, 0, 10_000)
    for index in range(4):
        builder.op("torch::autograd::AccumulateGrad", index * 10, 5)
        builder.op(DETACH, 1_000 + index * 10, 5)
    assert Facts(builder.trace()).host.behind_state.total_ns == 0
