"""OP001: an optimizer that updates ten parameters one after the other, ten ops each."""

from __future__ import annotations

import random

import pytest

from analyzer.finding import Confidence, Severity, State
from building.builders import TraceBuilder
from rules.optimizer.gradients_zeroed import RULE as ZEROED
from rules.optimizer.per_parameter_updates import RULE
from running.one_rule import judged, run

STEP = 100_000
_OF_TORCH_2_0 = tuple(
    f"aten::{name}" for name in ("add_", "mul_", "add_", "mul_", "addcmul_", "item", "sqrt", "div", "add_", "addcdiv_")
)
UPDATE = ("aten::_to_copy", "aten::mul_", "aten::lerp_", "aten::addcmul_", "aten::addcdiv_")


def world(
    *,
    span: float = 20_000,
    device: str | None = "cuda",
    name: str = "Adam",
    ops: tuple[str, ...] = UPDATE,
    busy: bool = False,
    parameters: int = 10,
) -> TraceBuilder:
    """Steps of 100 ms that end with the optimizer's span; the device idles in it unless `busy`."""
    builder = TraceBuilder(device)
    for number in range(3):
        at = number * STEP
        builder.step(number, at, STEP)
        work = STEP if busy else STEP - span
        if device is None:
            builder.op("aten::linear", at, STEP - span)
        else:
            builder.launch(at, kernel_start=at + 5, kernel_dur=work - 10)
        start = at + STEP - span
        builder.optimizer(start, span, name)
        each = span / (parameters * len(ops))
        for index in range(parameters * len(ops)):
            when = start + index * each
            if device is None:
                builder.op(ops[index % len(ops)], when, each * 0.9)
            else:
                kernel = when + each * 0.9 if not busy else at + STEP
                builder.launch(when, kernel_start=kernel, kernel_dur=0, op=ops[index % len(ops)], call_dur=each * 0.9)
    return builder


def test_fires_with_the_idle_time_in_the_span() -> None:
    found = judged(RULE, world())
    # 5 us more in each step: the first kernel of the step starts when its launch has returned (device_wait), not in the span.
    assert found.finding.saving.claims.total_ns == 3 * 20_000_000
    assert (found.severity, found.confidence) == (Severity.HIGH, Confidence.HIGH)
    assert found.finding.why.startswith("Adam.step updates 10 parameters one by one: 50 launches and 20 ms on the host")
    assert "fused=True" in found.finding.fix[0].code


@pytest.mark.parametrize("name", ["LBFGS", "SparseAdam", "Muon"])
def test_what_no_list_operation_can_update_is_left_alone(name: str) -> None:
    assert run(RULE, world(name=name)).state is State.CLEAR
    assert run(RULE, world(name=f"My{name}")).state is State.FIRED


def test_on_the_cpu_all_but_one_op_of_each_update_can_go_less_what_one_pass_takes() -> None:
    """One pass takes 60 us of each step before it works on any parameter: much of an update of four, little of one of 50."""
    found = judged(RULE, world(device=None))
    assert found.ratio == pytest.approx(0.2 * (1 - 1 / len(UPDATE)) - 60 / STEP, abs=1e-4)
    assert len(found.finding.fix) == 1


@pytest.mark.parametrize("slowness", [1, 3])
def test_what_one_pass_takes_is_more_on_a_slow_core(slowness: int) -> None:
    builder = world(device=None)
    builder.top["advisor"] = {"python_loop": {"median_ns": int(17.5 * slowness * 10_000), "turns": 10_000}}
    found = judged(RULE, builder)
    assert found.ratio == pytest.approx(0.2 * (1 - 1 / len(UPDATE)) - 60 * slowness / STEP, abs=1e-4)


@pytest.mark.parametrize("name", ["RMSprop", "MyOptimizer"])
def test_on_the_cpu_ops_on_lists_save_at_most_what_lies_between_ops(name: str) -> None:
    """Fifty ops a step, each of 3.6 us and 0.4 us before the next: no fused update is known."""
    builder = world(device=None, name=name, span=200)
    for number in range(3):
        builder.optimizer(number * STEP + 90_000, 6_000, name)
        for index in range(1_500):
            builder.op(UPDATE[index % len(UPDATE)], number * STEP + 90_000 + 4 * index, 3)
    found = judged(RULE, builder)
    assert found.finding.saving.claims.total_ns == pytest.approx(3 * (1_500 + 20) * 1_000, rel=0.02)
    assert "lists" in found.finding.saving.basis


@pytest.mark.parametrize(("name", "state"), [("RMSprop", State.CLEAR), ("Adam", State.FIRED)])
def test_on_the_cpu_lists_save_nothing_of_ops_that_compute(name: str, state: State) -> None:
    """Ops of 360 us, as on large parameters."""
    assert run(RULE, world(device=None, name=name)).state is state


def test_sgd_gains_nothing_on_the_cpu() -> None:
    result = run(RULE, world(device=None, name="SGD", ops=("aten::mul_", "aten::add_")))
    assert result.state is State.CLEAR
    assert "gains nothing on the CPU" in result.reason


def test_the_device_that_is_busy_meanwhile_loses_nothing() -> None:
    found = judged(RULE, world(busy=True))
    assert found.severity is Severity.INFO
    # Only the 5 us at the end of a step in which the device has finished.
    assert found.ratio < 0.001


@pytest.mark.parametrize("op", ["aten::_foreach_addcdiv_", "aten::_fused_adam_"])
def test_quiet_where_all_parameters_are_updated_at_once(op: str) -> None:
    builder = world()
    for number in range(3):
        builder.op(op, number * STEP + 80_001, 100)
    assert run(RULE, builder).state is State.CLEAR


def test_counting_steps_one_by_one_is_no_update() -> None:
    assert run(RULE, world(name="FusedAdam", ops=("aten::add_",))).state is State.CLEAR


@pytest.mark.parametrize(
    ("behind", "dur", "state"), [("aten::_local_scalar_dense", 0, State.FIRED), ("aten::clone", 1, State.CANNOT_TELL)]
)
def test_what_an_item_calls_is_no_op_of_the_update(behind: str, dur: int, state: State) -> None:
    """In whole microseconds some items end in the one in which what they call begins; other ops break the row of updates."""
    builder = world(device=None, ops=_OF_TORCH_2_0, parameters=120)
    chance = random.Random(0)
    for end in [event["ts"] + event["dur"] for event in builder.events if event["name"] == "aten::item"]:
        if chance.random() < 0.6:
            builder.op(behind, end, dur)
    assert run(RULE, builder).state is state


def test_zeroing_is_the_business_of_op003() -> None:
    builder = world()
    for event in builder.events:
        event["name"] = event["name"].replace("Optimizer.step#Adam.step", "Optimizer.zero_grad#Adam.zero_grad")
        if event["cat"] == "cpu_op" and event["ts"] % STEP >= 80_000:
            event["name"] = "aten::zero_"
    assert run(RULE, builder).state is State.NOT_APPLICABLE
    assert run(ZEROED, builder).state is State.FIRED


@pytest.mark.parametrize(("span", "state"), [(4_900, State.CLEAR), (5_100, State.FIRED)])
def test_boundary(span: float, state: State) -> None:
    assert run(RULE, world(span=span)).state is state


def test_cannot_tell_what_is_not_recorded() -> None:
    builder = TraceBuilder(None)
    for number in range(3):
        builder.step(number, number * STEP, STEP).optimizer(number * STEP, STEP)
        builder.op("aten::_compiled", number * STEP, STEP)
    result = run(RULE, builder)
    assert result.state is State.CANNOT_TELL
    assert "with_stack" in result.reason


def test_not_applicable_without_an_optimizer() -> None:
    builder = TraceBuilder(None)
    builder.step(0, 0, STEP)
    builder.op("aten::linear", 0, STEP)
    assert run(RULE, builder).state is State.NOT_APPLICABLE


@pytest.mark.parametrize(("torch", "upgrade"), [("2.3.1", True), ("2.4.0", False)])
def test_fused_on_the_cpu_needs_a_torch_that_has_it(torch: str, upgrade: bool) -> None:
    builder = world(device=None)
    builder.top["advisor"] = {"versions": {"torch": torch}}
    (advice,) = judged(RULE, builder).finding.fix
    assert ("this program ran with torch 2.3: upgrade first" in advice.note) is upgrade


def test_fused_on_a_device_is_older() -> None:
    builder = world()
    builder.top["advisor"] = {"versions": {"torch": "2.0.1"}}
    assert [advice.note for advice in judged(RULE, builder).finding.fix if "Needs torch" in advice.note] == []


@pytest.mark.parametrize(
    ("calls", "place"),
    [
        (("optimizer.step()",), ("main", 19)),
        (("optimizer.step()", "critics.step()"), ("main", None)),
        ((), ("main", None)),
    ],
)
def test_the_line_is_that_which_calls_step_not_one_that_calls_the_same_ops(
    calls: tuple[str, ...], place: tuple[str, int | None]
) -> None:
    """An average of the weights, kept by hand, calls the same ops more often; `backward()` takes longer in `main`."""
    where = [
        {"op": op, "file": "train.py", "line": 30, "function": "follow", "count": 400}
        for op in {*UPDATE, "aten::linear"}
    ]
    where.append({"op": "Optimizer.step#Adam.step", "file": "train.py", "line": 10, "function": "main", "count": 2})
    told = {18: ("loss.backward()", 60)} | {19 + n: (text, 20) for n, text in enumerate(calls)}
    rows = [
        {"loader": False, "file": "train.py", "line": line, "function": "main", "begins": 10, "text": text, "ns": ns}
        for line, (text, ns) in told.items()
    ]
    builder = world(device=None)
    lines = {"training": {"total_ns": 100, "loader_ns": 0, "rows": rows}}
    builder.top["advisor"] = {"where": where, "lines": lines}
    found = judged(RULE, builder).finding.location
    assert found is not None
    assert (found.function, found.line) == place


def _apart(device: str | None, *, name: str = "Adam", number: int = 6, marked: bool = True) -> TraceBuilder:
    """Steps of 100 ms with an optimizer for each of some parameters, whose spans of 3 ms stand apart."""
    builder = TraceBuilder(device)
    for step in range(4):
        at = step * STEP
        if marked:
            builder.step(step, at, STEP)
        if device is not None:
            builder.launch(at, kernel_start=at + 5, kernel_dur=5_000)
        for index in range(number):
            start = at + 10_000 + index * 5_000
            builder.optimizer(start, 3_000, name)
            for place, op in enumerate(UPDATE):
                when = start + 200 + place * 500
                if device is None:
                    builder.op(op, when, 400)
                else:
                    builder.launch(when, kernel_start=when + 400, kernel_dur=0, op=op, call_dur=400)
    return builder


@pytest.mark.parametrize("device", [None, "cuda"])
def test_an_optimizer_for_each_parameter_updates_one_by_one(device: str | None) -> None:
    """So it is where they step in hooks of their gradients: nothing repeats in a span."""
    found = judged(RULE, _apart(device)).finding
    assert found.why.startswith("Adam.step updates 6 parameters one by one")
    assert "[p], lr=lr, fused=True" in found.fix[0].code
    assert "all parameters, which steps after the backward pass" in found.fix[1].note
    assert [advice.code.count("fused=True") for advice in found.fix] == [1, 1]


def test_lists_need_more_than_one_parameter() -> None:
    (fix,) = judged(RULE, _apart("cuda", name="RMSprop")).finding.fix
    assert "RMSprop(model.parameters(), lr=lr, foreach=True)" in fix.code


@pytest.mark.parametrize(("number", "marked"), [(2, True), (1, False)])
def test_few_spans_a_step_or_many_without_steps_are_no_optimizers_for_each(number: int, marked: bool) -> None:
    """Those of a GAN, or one optimizer in a recording that is taken as one step."""
    assert run(RULE, _apart(None, number=number, marked=marked)).state is State.CANNOT_TELL
