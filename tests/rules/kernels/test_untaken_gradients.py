"""KE014: nodes of the backward pass that lead to no parameter which an optimizer updates."""

from __future__ import annotations

import pytest

from analyzer.finding import Confidence, State
from building.builders import TraceBuilder
from programs.hardware import MATRIX
from rules.kernels.untaken_gradients import RULE
from running.one_rule import judged, run


def world(
    *, marks: str = "2", known: bool = True, device: str | None = None, dur: float = 2_000, each: int = 1
) -> TraceBuilder:
    """Three steps of 10 ms with a backward pass of three nodes, 1 ms for the head, and two of a convolution.

    Args:
        marks: What the collector says of the second convolution's node.
        known: Whether it tells of nodes.
        device: Where the nodes compute.
        dur: Time of the second convolution's node, us.
        each: How many more of these nodes there are in the trace than the collector saw.
    """
    told = {"tensors": 2, "numbers": 90, "of_tensors": 4, "of_numbers": 100}
    nodes = {"nodes": {"ConvolutionBackward0": f"0{marks}"}} if known else {}
    builder = TraceBuilder(device, advisor={"model": {"untrained": told | nodes}})
    for step in range(3):
        at = step * 10_000.0
        builder.step(step, at, 10_000)
        builder.op("aten::linear", at + 10, 500, **{"Sequence number": 10 * step + 1})
        _node(builder, "AddmmBackward0", at + 1_000, 1_000, 10 * step + 9)
        _node(builder, "ConvolutionBackward0", at + 2_100, 1_000, 10 * step + 8)
        for extra in range(each):
            _node(builder, "ConvolutionBackward0", at + 3_200 + 2_600 * extra, dur, 10 * step + 7 - extra)
        _node(builder, "AccumulateGrad", at + 3_200 + dur, 100, None)
    return builder


def _node(builder: TraceBuilder, name: str, at: float, dur: float, number: int | None) -> None:
    numbered = {"Sequence number": number} if number is not None else {}
    builder.op(f"autograd::engine::evaluate_function: {name}", at, dur, **numbered)
    # The span of the node itself stands inside that of the engine.
    builder.op(name, at + 1, dur - 2, **numbered)
    if builder.device is not None:
        builder.launch(at + 5, kernel_start=at + 10, kernel_dur=dur - 20, name=MATRIX, op=None)


@pytest.mark.parametrize(("marks", "us"), [("2", 2_100), ("1", 1_000)])
def test_what_nobody_takes_is_saved(marks: str, us: float) -> None:
    found = judged(RULE, world(marks=marks))
    assert found.finding.confidence is Confidence.MEDIUM
    assert found.ns_per_step == us * 1_000
    assert "2 of the 4 tensors that get gradients are in none" in found.finding.why


@pytest.mark.parametrize(("told", "state"), [(None, State.CANNOT_TELL), (0, State.CLEAR)])
def test_what_was_not_recorded_is_not_clear(told: int | None, state: State) -> None:
    found = {} if told is None else {"untrained": {"tensors": told, "numbers": 0, "of_tensors": 4, "of_numbers": 100}}
    builder = TraceBuilder(None, advisor={"model": found})
    for step in range(3):
        builder.step(step, step * 10_000.0, 10_000)
        _node(builder, "AddmmBackward0", step * 10_000.0 + 1_000, 1_000, step + 9)
    assert run(RULE, builder).state is state


def test_on_a_device_kernels_are_counted() -> None:
    assert judged(RULE, world(device="cuda")).finding.saving.kernel_ns == 3 * 2_060_000


@pytest.mark.parametrize(
    ("changes", "state"),
    [
        ({"marks": "0"}, State.CLEAR),
        ({"known": False}, State.CANNOT_TELL),
        # Another pass than the one that the collector saw.
        ({"each": 2}, State.CLEAR),
        ({"dur": 101}, State.FIRED),
        ({"dur": 99}, State.CLEAR),
    ],
)
def test_quiet(changes: dict[str, object], state: State) -> None:
    assert run(RULE, world(**changes)).state is state  # type: ignore[arg-type]


def turns(*, passes: list[dict[str, str]], dropped: int = 2, each: int = 2, of_input: int = 0) -> TraceBuilder:
    """Three steps of 10 ms with passes of two matrix products, of 1 ms each.

    Args:
        passes: What the collector says of the passes of a step.
        dropped: How many tensors it saw dropped.
        each: How many passes a step of the trace has.
        of_input: How many of the dropped are so in a pass for the gradient of an input.
    """
    told = {"tensors": 0, "numbers": 0, "of_tensors": 4, "of_numbers": 100, "dropped": dropped, "passes": passes}
    told["of_input"] = of_input
    builder = TraceBuilder(None, advisor={"model": {"untrained": told}})
    for step in range(3):
        at = step * 10_000.0
        builder.step(step, at, 10_000)
        for one in range(each):
            _node(builder, "AddmmBackward0", at + 3_000 * one + 1_000, 1_000, 100 * step + 10 * one + 9)
            _node(builder, "AddmmBackward0", at + 3_000 * one + 2_100, 1_000, 100 * step + 10 * one + 8)
    return builder


@pytest.mark.parametrize(
    ("passes", "us", "fixes", "word"),
    [
        # In the second pass the generator's: all that it computes.
        ([{"AddmmBackward0": "10"}, {"AddmmBackward0": "02"}], 1_500, 2, ".detach()"),
        ([{"AddmmBackward0": "10"}, {}], 500, 1, "discriminator.requires_grad_(False)"),
    ],
)
def test_gradients_dropped_in_turns_are_found_by_their_pass(
    passes: list[dict[str, str]], us: float, fixes: int, word: str
) -> None:
    found = judged(RULE, turns(passes=passes))
    assert found.ns_per_step == us * 1_000
    assert len(found.finding.fix) == fixes
    assert word in found.finding.fix[0].code
    assert "2 of the 4 tensors get gradients in another optimizer's pass" in found.finding.why


def test_the_gradient_of_an_input_is_asked_for_alone() -> None:
    found = judged(RULE, turns(passes=[{"AddmmBackward0": "11"}, {}], of_input=2))
    assert found.ns_per_step == 1_000_000
    (fix,) = found.finding.fix
    assert "torch.autograd.grad(" in fix.code
    assert "a pass for the gradient of an input gives some to 2 of the 4 tensors as well" in found.finding.why


@pytest.mark.parametrize(
    "changes", [{"passes": [{}, {}]}, {"dropped": 0}, {"dropped": 5}, {"each": 3}, {"each": 1}, {"passes": 3}]
)
def test_passes_that_fit_no_step_are_left_alone(changes: dict[str, object]) -> None:
    assert run(RULE, turns(**({"passes": [{"AddmmBackward0": "10"}, {}]} | changes))).state is State.CLEAR  # type: ignore[arg-type]
