"""OP004: twenty norms computed one by one, of gradients or of weights."""

from __future__ import annotations

from typing import Any

import pytest

from analyzer.finding import Confidence, Severity, State
from building.builders import TraceBuilder
from rules.optimizer.per_parameter_norms import RULE
from running.one_rule import judged, run

STEP = 100_000
NORMS = 20


def world(
    *, run_us: float = 10_000, device: str | None = "cuda", busy: bool = False, norms: int = NORMS
) -> TraceBuilder:
    """Steps of 100 ms that begin with a row of norms, in which the device idles unless `busy`."""
    builder = TraceBuilder(device)
    for number in range(3):
        at = number * STEP
        builder.step(number, at, STEP)
        for index in range(norms):
            builder.op("aten::linalg_vector_norm", at + index * run_us / norms, run_us / norms)
        start = at + (0 if busy else run_us)
        if device is None:
            builder.op("aten::linear", at + run_us, STEP - run_us)
        else:
            builder.launch(start, kernel_start=start + 5, kernel_dur=STEP - (start - at) - 5)
    return builder


def test_fires_with_the_cost_of_all_norms_but_one() -> None:
    found = judged(RULE, world())
    assert found.ratio == pytest.approx(0.1 * (1 - 1 / NORMS), abs=1e-6)
    assert (found.severity, found.confidence) == (Severity.LOW, Confidence.MEDIUM)
    assert "20 norms" in found.finding.why


def test_fires_on_the_cpu_with_the_time_of_the_norms() -> None:
    assert judged(RULE, world(device=None)).finding.saving.kernel_ns == int(3 * 10_000_000 * (1 - 1 / NORMS))


def test_quiet_beside_a_busy_device() -> None:
    assert run(RULE, world(busy=True)).state is State.CLEAR


@pytest.mark.parametrize(("kernel", "state"), [(3, State.FIRED), (1, State.CLEAR), (7, State.CLEAR)])
def test_beside_a_busy_device_the_cost_is_short_kernels(kernel: float, state: State) -> None:
    """A hundred norms in steps of 10 ms, launched while a product of 8 ms runs: 3 % of the step, 1 %, or kernels at work."""
    builder = TraceBuilder()
    for number in range(3):
        at = number * 10_000
        builder.step(number, at, 10_000)
        builder.launch(at, kernel_start=at + 10, kernel_dur=8_000, name="gemm", op="aten::mm")
        for index in range(100):
            begin, starts = at + 20 + index * 20, at + 8_012 + index * (kernel + 1)
            builder.launch(begin, kernel_start=starts, kernel_dur=kernel, op="aten::linalg_vector_norm", call_dur=15)
        builder.launch(at + 2_100, kernel_start=at + 9_000, kernel_dur=1_000, name="gemm", op="aten::mm")
    assert run(RULE, builder).state is state
    if state is State.FIRED:
        found = judged(RULE, builder)
        assert (found.severity, found.finding.saving.usual_kernel_ns) == (Severity.INFO, 0)
        assert "The GPU idles" not in found.finding.why
        assert found.finding.why.endswith(
            "what they cost are their kernels: 300 us of each 10 ms step (3.0 %), 3.0 us each."
        )


@pytest.mark.parametrize(("run_us", "state"), [(1_900, State.CLEAR), (2_100, State.FIRED)])
def test_boundary(run_us: float, state: State) -> None:
    assert run(RULE, world(run_us=run_us)).state is state


def test_not_applicable_without_a_row_of_norms() -> None:
    assert run(RULE, world(norms=3)).state is State.NOT_APPLICABLE


@pytest.mark.parametrize("device", [None, "cuda"])
def test_what_is_written_between_norms_is_no_cost_of_them(device: str | None) -> None:
    """A log takes 3 ms for each parameter, its norm 0.5 ms: of 70 ms in a row the norms take 10."""
    builder = world(device=device)
    for event in builder.events:
        number = int(event["ts"] // STEP)
        if event["name"] == "aten::linalg_vector_norm":
            event["ts"] = number * STEP + (event["ts"] - number * STEP) * 7
        elif event["ts"] >= number * STEP + 10_000:
            event["ts"] += 60_000
            event["dur"] = max(event["dur"] - 60_000, 1)
    found = judged(RULE, builder)
    assert found.ratio == pytest.approx(judged(RULE, world(device=device)).ratio, abs=0.002)


@pytest.mark.parametrize("read", [False, True])
def test_norms_that_are_each_read_are_logged_and_no_clipping_is_advised(read: bool) -> None:
    """`clip_grad_norm_` would change the gradients of a program that only writes their norms to a log."""
    builder = world(device=None)
    for event in [event for event in builder.events if event["name"] == "aten::linalg_vector_norm"]:
        event["dur"] = 300
        if read:
            builder.op("aten::item", event["ts"] + 310, 100)
    found = judged(RULE, builder).finding
    assert ("each read into Python by itself" in found.why) is read
    assert ("clip_grad_norm_" in found.fix[0].code) is not read
    assert (".tolist()" in found.fix[0].code) is read


def in_turns(*ops: tuple[str, float, float]) -> TraceBuilder:
    """Steps of 100 ms on the CPU that begin with turns of a millisecond, each of some ops: name, when in the turn, how long."""
    builder = TraceBuilder(None)
    for number in range(3):
        at = number * STEP
        builder.step(number, at, STEP)
        for index in range(NORMS):
            for name, after, dur in ops:
                builder.op(name, at + index * 1_000 + after, dur)
        builder.op("aten::add", at + NORMS * 1_000, STEP - NORMS * 1_000)
    return builder


@pytest.mark.parametrize(("between", "state"), [("aten::conv2d", State.NOT_APPLICABLE), ("aten::mul_", State.FIRED)])
def test_norms_with_a_layer_behind_each_are_of_its_weights(between: str, state: State) -> None:
    """As spectral norm takes them at each call; gradients that are scaled one by one have no layer between."""
    assert run(RULE, in_turns(("aten::linalg_vector_norm", 0, 500), (between, 500, 490))).state is state


@pytest.mark.parametrize(("before", "state"), [("aten::reshape", State.NOT_APPLICABLE), ("aten::flatten", State.FIRED)])
def test_norms_of_rows_are_no_norms_of_gradients(before: str, state: State) -> None:
    """Differential privacy clips each sample's gradient: `g.reshape(len(g), -1).norm(dim=-1)`, a number for each sample."""
    assert run(RULE, in_turns((before, 0, 100), ("aten::linalg_vector_norm", 110, 800))).state is state


# What a recording begins with no update was seen before: of few steps that would be a good part.
TRAINED_STEPS = 12
_NODE = "autograd::engine::evaluate_function: AddmmBackward0"


def trained(
    *,
    first: str = "update",
    numbers: str = "none",
    scaled: int = 0,
    zeroed: bool = False,
    recorded_pass: bool = False,
    node: str = _NODE,
) -> TraceBuilder:
    """Steps of 100 ms on the CPU: twenty norms of half a millisecond in front of the backward pass, or between it and the update.

    Args:
        first: What the norms stand behind: `update` or `pass`.
        numbers: Autograd's of the norms: `none`, `same` or `rising`.
        scaled: How many tensors are scaled in place behind them.
        zeroed: Whether zero_grad runs in front of them.
        recorded_pass: Whether ops of the backward pass have numbers.
        node: Name of the backward pass's node; it has the number of each norm in turn.
    """
    builder = TraceBuilder(None)
    for number in range(TRAINED_STEPS):
        at = number * STEP
        builder.step(number, at, STEP)
        begin = at + (1_000 if first == "update" else 40_000)
        if zeroed:
            builder.zero_grad(begin - 500, 400)
        known = 1_000 * number
        for index in range(NORMS):
            told = {} if numbers == "none" else {"Sequence number": known + (index if numbers == "rising" else 0)}
            builder.op("aten::linalg_vector_norm", begin + index * 500, 500, **told)
        for index in range(scaled):
            builder.op("aten::mul_", begin + 10_100 + index * 100, 90)
        told = {"Sequence number": known + NORMS} if numbers != "none" else {}
        builder.op("aten::linear", begin + 14_000, 1_000, **told)
        back = at + (20_000 if first == "update" else 5_000)
        for index in range(NORMS):
            builder.op(node, back + index * 1_000, 900, **{"Sequence number": known + index})
            inner = {"Sequence number": 10_000 + index} if recorded_pass else {}
            builder.op("aten::mm", back + index * 1_000 + 100, 700, **inner)
        builder.optimizer(at + 90_000, 9_000)
        builder.op("aten::_fused_adam_", at + 90_100, 8_000)
    return builder


@pytest.mark.parametrize(
    ("how", "weights"),
    [
        ({"numbers": "rising"}, True),
        ({"numbers": "same"}, False),
        ({"numbers": "none"}, False),
        # Weights that are logged between the backward pass and the update.
        ({"numbers": "rising", "first": "pass"}, True),
        # As gradients of `create_graph=True`, whose norms autograd records as well; before them there are none.
        ({"numbers": "rising", "first": "pass", "recorded_pass": True}, False),
        ({"numbers": "rising", "recorded_pass": True}, True),
        # No gradients are left, and none are there yet.
        ({"zeroed": True}, True),
    ],
)
def test_weights_are_told_from_gradients_where_autograd_records_them_or_no_gradient_is_there(
    how: dict[str, Any], weights: bool
) -> None:
    finding = judged(RULE, trained(**how)).finding
    assert ("as of weights, not of gradients" in finding.why) is weights
    assert ("of gradients or of weights" in finding.why) is not weights
    assert any(".grad" in advice.code for advice in finding.fix) is not weights
    assert any("p.detach()" in advice.code for advice in finding.fix)


@pytest.mark.parametrize(("scaled", "gradients"), [(NORMS, True), (NORMS // 2 - 1, False)])
def test_gradients_are_known_by_what_scales_them_in_front_of_the_update(scaled: int, gradients: bool) -> None:
    finding = judged(RULE, trained(first="pass", scaled=scaled)).finding
    assert ("of gradients, which are scaled behind them" in finding.why) is gradients
    assert ("p.detach()" in finding.fix[-1].code) is not gradients
    assert bool(finding.caveats) is gradients


def test_what_is_scaled_behind_an_update_clips_nothing() -> None:
    """Weights that are held to a length are scaled as well."""
    finding = judged(RULE, trained(scaled=NORMS)).finding
    assert "of gradients or of weights" in finding.why
    assert all("clip_grad_norm_" not in advice.code for advice in finding.fix)


@pytest.mark.parametrize(("first", "clips"), [("update", False), ("pass", True)])
def test_norms_behind_the_update_are_no_clipping(first: str, clips: bool) -> None:
    finding = judged(RULE, trained(first=first)).finding
    assert any("clip_grad_norm_" in advice.code for advice in finding.fix) is clips


@pytest.mark.parametrize(
    ("node", "penalty"), [("autograd::engine::evaluate_function: LinalgVectorNormBackward0", True), (_NODE, False)]
)
def test_norms_that_gradients_go_back_through_are_part_of_a_loss(node: str, penalty: bool) -> None:
    """They cannot be taken every hundredth step, nor without gradients."""
    finding = judged(RULE, trained(numbers="rising", node=node)).finding
    assert ("part of a loss" in finding.why) is penalty
    assert ("detach" in finding.fix[0].code) is not penalty


def test_two_optimizers_zero_each_its_own() -> None:
    """Behind the generator's zero_grad the critic's gradients are still there."""
    builder = trained(zeroed=True)
    for number in range(TRAINED_STEPS):
        builder.optimizer(number * STEP + 50_000, 1_000)
        builder.op("aten::_fused_adam_", number * STEP + 50_100, 800)
    assert "of gradients or of weights" in judged(RULE, builder).finding.why
