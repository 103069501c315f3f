"""OP003: zero_grad that fills forty gradients with zeros in every step."""

from __future__ import annotations

import pytest

from analyzer.finding import Confidence, Severity, State
from building.builders import AUTOGRAD, TraceBuilder
from building.clocked import Clocked
from rules.optimizer.gradients_zeroed import RULE
from rules.optimizer.per_parameter_updates import RULE as UPDATES
from running.one_rule import judged, run

STEP = 100_000
GRADIENTS = 40


def world(
    *, span: float = 10_000, device: str | None = "cuda", fills: bool = True, marked: bool = True, gap: bool = True
) -> TraceBuilder:
    """Steps of 100 ms that begin with zero_grad, in which the device idles where there is a `gap`."""
    builder = TraceBuilder(device)
    for number in range(3):
        at = number * STEP
        builder.step(number, at, STEP)
        if marked:
            builder.zero_grad(at, span)
        for index in range(GRADIENTS if fills else 0):
            when = at + index * span / GRADIENTS
            if device is None or not gap:
                builder.op("aten::zero_", when, span / GRADIENTS)
            else:
                builder.launch(
                    when, kernel_start=at + span - 10, kernel_dur=0, op="aten::zero_", call_dur=span / GRADIENTS
                )
        if device is None:
            builder.op("aten::linear", at + span, STEP - span)
        else:
            start = at + (span if gap else 0)
            builder.launch(start, kernel_start=start + 5, kernel_dur=STEP - (start - at) - 5, thread=AUTOGRAD)
    return builder


def test_fires_with_the_idle_time_in_the_fills() -> None:
    found = judged(RULE, world())
    assert found.finding.saving.claims.total_ns == 3 * 10_000_000
    assert (found.severity, found.confidence) == (Severity.MEDIUM, Confidence.HIGH)
    assert "40 fills a step" in found.finding.why


def test_fires_on_the_cpu_with_the_span() -> None:
    assert judged(RULE, world(device=None)).ratio == pytest.approx(0.1)


def test_a_row_of_fills_without_a_range_is_inferred() -> None:
    found = judged(RULE, world(marked=False, device=None))
    assert found.confidence is Confidence.LOW
    assert "model.zero_grad()" in found.finding.why


def test_quiet_where_gradients_are_dropped() -> None:
    result = run(RULE, world(fills=False))
    assert result.state is State.CLEAR
    assert "dropped" in result.reason


def test_costs_nothing_beside_a_busy_device_and_is_not_the_updates() -> None:
    found = judged(RULE, world(gap=False))
    assert found.severity is Severity.INFO
    assert run(UPDATES, world()).state is State.NOT_APPLICABLE


@pytest.mark.parametrize(("span", "state"), [(900, State.CLEAR), (1_100, State.FIRED)])
def test_boundary(span: float, state: State) -> None:
    assert run(RULE, world(span=span)).state is state


def test_not_applicable_where_nothing_is_zeroed() -> None:
    builder = TraceBuilder(None)
    builder.step(0, 0, STEP)
    builder.op("aten::zero_", 0, STEP - 10)
    builder.op("aten::mm", STEP - 10, 10)
    assert run(RULE, builder).state is State.NOT_APPLICABLE


def cleared_between(*, launched: bool) -> TraceBuilder:
    """Steps with forty `aten::zero_` in a row; with `launched`, an extension launches a kernel behind each."""
    builder = TraceBuilder()
    for number in range(3):
        at = number * STEP
        builder.step(number, at, STEP)
        for index in range(GRADIENTS):
            when = at + index * 500
            builder.launch(when, kernel_start=when + 100, kernel_dur=90, op="aten::zero_", call_dur=20)
            if launched:
                builder.launch(when + 300, kernel_start=when + 310, kernel_dur=150, name="causal_conv1d_fwd", op=None)
        builder.launch(at + 30_000, kernel_start=at + 30_005, kernel_dur=60_000, thread=AUTOGRAD)
    return builder


def test_memory_cleared_for_a_kernel_behind_each_is_no_row_of_gradients() -> None:
    assert judged(RULE, cleared_between(launched=False)).finding.why.startswith("Zeroing the gradients")
    assert run(RULE, cleared_between(launched=True)).state is State.NOT_APPLICABLE


@pytest.mark.parametrize("dur", [0.0, 50.0])
def test_what_the_fills_take_of_the_device_is_told(dur: float) -> None:
    built = Clocked()
    for _ in built.steps(4):
        begin = built.now
        for _ in range(GRADIENTS):
            if dur:
                built.kernel_of(
                    "aten::zero_/aten::fill_", "vectorized_elementwise_kernel<4, FillFunctor<float>>", dur, host=60
                )
            else:
                built.host_op("aten::zero_", 60)
        built.zero_grad(begin, built.now - begin)
        built.kernel_of("aten::mm", "nvjet_tst_128x256_64x4_1x2_h_bz_coopA_NNT", 9_000)
        built.read_value()
    assert ("2.0 ms of the GPU's time" in judged(RULE, built).finding.why) is bool(dur)
