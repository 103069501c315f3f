"""Ops behind the update and before the first with a gradient: the model's passes, clipping and the update are none of them."""

from __future__ import annotations

import pytest

from analyzer.facts import Facts
from building.builders import TraceBuilder
from known.sayings import explained

STEP = 10_000
NODE = "autograd::engine::evaluate_function: "


def world(
    *,
    logged: float = 4_000,
    prepared: float = 0,
    device: str | None = None,
    numbered: bool = True,
    updates: bool = True,
    parts: int = 1,
    behind: str = "aten::histogram",
) -> TraceBuilder:
    """Four steps of 10 ms: an input is prepared, a product forward and backward, gradients are clipped, updated, and logged.

    Args:
        logged: What the program computes behind the update, in us.
        prepared: What it computes in front of the forward pass.
        device: A device, or none.
        numbered: Whether ops carry the numbers of the backward pass.
        updates: Whether an optimizer's step shows.
        parts: Forward and backward passes for one update.
        behind: The op that is computed behind the update.
    """
    builder = TraceBuilder(device)
    passes = (STEP - 1_000 - logged - prepared) / parts
    for number in range(4):
        at = number * STEP
        builder.step(number, at, STEP)
        first = {"Sequence number": 10 * number} if numbered else {}
        if prepared:
            builder.op("aten::stft", at, prepared - 1, **first)
        for part in range(parts):
            begin, mine = at + prepared + part * passes, {"Sequence number": 10 * number + part} if numbered else {}
            builder.op("aten::linear", begin, passes / 2 - 1, **mine)
            builder.op("aten::addmm", begin + 1, passes / 2 - 4, **mine)
            builder.op(f"{NODE}AddmmBackward0", begin + passes / 2, passes / 2 - 100, **mine)
            builder.op(f"{NODE}torch::autograd::AccumulateGrad", begin + passes - 99, 90)
        passed = at + prepared + parts * passes
        builder.op("aten::_foreach_norm", passed, 490)
        if updates:
            builder.optimizer(passed + 500, 480)
        builder.op("aten::_fused_adam_", passed + 510, 450)
        if logged:
            builder.op(behind, passed + 1_000, logged - 1)
        if device:
            builder.launch(at + prepared, kernel_start=at + prepared + 5, kernel_dur=passes)
    return builder


def ratio(builder: TraceBuilder) -> float:
    facts = Facts(builder.trace())
    return facts.steps.ratio((facts.model.outside_passes & facts.time.waterfall.owned("compute")).total_ns)


def said(builder: TraceBuilder) -> str:
    return explained(builder).summary.verdict.text


@pytest.mark.parametrize(
    ("logged", "prepared", "parts", "expected"),
    [
        (4_000, 0, 1, 0.4),
        (0, 3_000, 1, 0.3),
        (2_000, 3_000, 1, 0.5),
        (0, 0, 1, 0.0),
        (0, 0, 4, 0.0),
        (2_000, 0, 4, 0.2),
    ],
)
def test_what_no_pass_and_no_update_needs(logged: float, prepared: float, parts: int, expected: float) -> None:
    assert ratio(world(logged=logged, prepared=prepared, parts=parts)) == pytest.approx(expected, abs=0.005)


@pytest.mark.parametrize("lacks", [{"numbered": False}, {"updates": False}, {"device": "cuda"}])
def test_nothing_is_told_apart_without_numbers_or_updates_or_on_a_device(lacks: dict[str, bool]) -> None:
    assert ratio(world(**lacks)) == 0  # type: ignore[arg-type]


def test_a_forward_pass_whose_first_op_is_not_recorded_begins_behind_the_update_before() -> None:
    builder = world(logged=2_000, prepared=2_000)
    lost = ("aten::linear", "aten::addmm")
    builder.events[:] = [event for event in builder.events if event["name"] not in lost or event["ts"] < STEP]
    # What the first step prepares is still told apart; what the others do may be a part of the pass.
    assert ratio(builder) == pytest.approx(0.25, abs=0.005)


def test_the_verdict_calls_it_neither_the_model_nor_its_optimizer() -> None:
    text = said(world())
    assert "the model and its optimizer are 60 % of the step" in text
    assert "40 % is ops behind the update and before any that has a gradient" in text
    assert "`aten::histogram` alone takes 40 %" in text
    assert said(world(logged=400)).startswith("Compute-bound: the model and its optimizer are 100 % of the step. ")


def test_the_op_that_takes_most_of_it_is_named_before_a_product_of_the_model() -> None:
    assert "Of the ops behind the update `aten::histogram` takes 100 %." in said(world(logged=2_000, parts=4))


@pytest.mark.parametrize(
    ("op", "kept"), [("aten::mkldnn_convolution", True), ("aten::histogram", False), ("aten::mm", False)]
)
def test_layers_that_no_gradient_passes_may_be_computed_once_and_kept(op: str, kept: bool) -> None:
    """Products of two tensors may be a metric's."""
    assert ("computed once and kept" in said(world(logged=2_000, parts=4, behind=op))) is kept


@pytest.mark.parametrize(
    ("op", "told"), [("aten::mm", True), ("aten::_cdist_forward", True), ("aten::histogram", False)]
)
def test_products_of_what_stays_the_same_are_computed_once(op: str, *, told: bool) -> None:
    """A graph's matrix that was normalised in each step took 85 % of it."""
    assert ("is the same in each step" in said(world(logged=2_000, parts=4, behind=op))) is told
