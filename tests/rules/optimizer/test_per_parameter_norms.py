"""OP004: gradient clipping that computes twenty norms one by one."""

from __future__ import annotations

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
