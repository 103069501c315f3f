"""PY003: a moving average of the weights, updated tensor by tensor after the optimizer."""

from __future__ import annotations

import pytest

from analyzer.finding import Confidence, Severity, State
from building.builders import TraceBuilder
from rules.optimizer.per_parameter_norms import RULE as NORMS
from rules.python.element_loop import RULE as ELEMENTS
from rules.python.repeated_small_ops import RULE
from running.one_rule import judged, run

STEP = 10_000
UNIT = ("aten::mul_", "aten::add_")


def world(
    *,
    tensors: int = 60,
    each: float = 10,
    unit: tuple[str, ...] = UNIT,
    device: str | None = None,
    lead: float = 3,
    kernel: float = 1,
) -> TraceBuilder:
    """Steps of 10 ms that begin with the unit once per tensor, each op of `each` us; on a device with a kernel of `kernel` us."""
    builder = TraceBuilder(device)
    for number in range(3):
        at = number * STEP
        builder.step(number, at, STEP)
        for index in range(tensors * len(unit)):
            when = at + index * each
            builder.op(unit[index % len(unit)], when, each)
            if device:
                builder.launch(when + 2, kernel_start=when + 4 + lead, kernel_dur=kernel, op=None, call_dur=2)
        rest = at + tensors * len(unit) * each
        builder.op("aten::linear", rest, at + STEP - rest)
        if device:
            builder.launch(rest, kernel_start=rest + 5 + lead, kernel_dur=at + STEP - rest - 10 - lead, op=None)
    return builder


def test_fires_on_the_cpu_with_all_but_one_repetition() -> None:
    found = judged(RULE, world())
    assert found.ratio == pytest.approx(0.12 * (1 - 1 / 60), abs=1e-6)
    assert (found.severity, found.confidence) == (Severity.MEDIUM, Confidence.MEDIUM)
    assert "the same 2 ops (`mul_, add_`) run 60 times in a row" in found.finding.why
    assert "_foreach_lerp_" in found.finding.fix[0].code


@pytest.mark.parametrize(
    ("unit", "page"),
    [
        (UNIT, "AveragedModel"),
        (("aten::lerp_", "aten::detach"), "AveragedModel"),
        (("aten::mul", "aten::mul", "aten::add"), "AveragedModel"),
        (("aten::mul", "aten::add"), ""),
        (("aten::mul_", "aten::neg_"), ""),
    ],
)
def test_only_what_may_be_an_average_is_referred_to_one(unit: tuple[str, ...], page: str) -> None:
    finding = judged(RULE, world(unit=unit)).finding
    assert [address for address in finding.references if page in address] == list(finding.references)
    assert bool(finding.references) is bool(page)


def test_values_that_are_read_turn_by_turn_are_read_once() -> None:
    reading = judged(RULE, world(unit=("aten::isfinite", "aten::all", "aten::is_nonzero"))).finding
    assert "not fine:       # one read" in reading.fix[0].code
    assert not any("torch.stack(tensors))" in fix.code for fix in reading.fix)
    assert any(
        "torch.stack(tensors))" in fix.code
        for fix in judged(RULE, world(unit=("aten::isfinite", "aten::all"))).finding.fix
    )


def test_rows_with_other_ops_between_them_are_no_single_row() -> None:
    builder = TraceBuilder(None)
    for number in range(4):
        at = number * STEP
        builder.step(number, at, STEP)
        for index in range(240):
            # An op of another kind after each sixty.
            builder.op(UNIT[index % 2], at + index * 10 + index // 60 * 20, 8)
        for place in range(1, 4):
            builder.op("aten::sort", at + place * 600 + (place - 1) * 20, 20)
        builder.op("aten::linear", at + 2_500, STEP - 2_500)
    assert "run 120 times a step, in 4 rows, in the step" in judged(RULE, builder).finding.why


def test_on_a_device_only_where_launches_limit_the_step() -> None:
    assert run(RULE, world(device="cuda", tensors=160)).state is State.FIRED
    result = run(RULE, world(device="cuda", tensors=160, lead=500))
    assert result.state is State.CLEAR
    assert "queued work" in result.reason


@pytest.mark.parametrize(("kernel", "state"), [(3, State.FIRED), (1, State.CLEAR), (7, State.CLEAR)])
def test_beside_a_busy_device_the_cost_is_short_kernels(kernel: float, state: State) -> None:
    """Kernels of 3 us are 10 % of the step; those of 1 us are little, and those of 7 us have data to go through."""
    builder = world(device="cuda", tensors=160, lead=500, kernel=kernel)
    assert run(RULE, builder).state is state
    if state is State.FIRED:
        found = judged(RULE, builder)
        assert (found.severity, found.finding.saving.usual_kernel_ns) == (Severity.INFO, 0)
        assert "launched in time for a busy GPU" in found.finding.why
        assert "(9.6 %), 3.0 us each" in found.finding.why


@pytest.mark.parametrize(("rest", "state"), [(15, State.CANNOT_TELL), (60, State.FIRED)])
def test_without_steps_a_trace_that_is_nothing_but_the_loop_may_be_many_steps(rest: float, state: State) -> None:
    builder = TraceBuilder(None)
    for index in range(120):
        builder.op(UNIT[index % 2], index * 10, 10)
    builder.op("aten::sort", 1_200, rest)
    result = run(RULE, builder)
    assert result.state is state
    assert state is State.FIRED or "`mul_, add_`, which may be the steps" in result.reason


@pytest.mark.parametrize("unit", [("aten::linear", "aten::relu"), ("aten::copy_",)])
def test_layers_and_single_ops_are_normal(unit: tuple[str, ...]) -> None:
    assert run(RULE, world(unit=unit)).state is State.CLEAR


MADE = ("aten::empty", "aten::to", "aten::lift_fresh", "aten::detach_", "aten::unsqueeze")


def test_tensors_made_of_python_values_are_made_of_one_array() -> None:
    found = judged(RULE, world(unit=MADE)).finding
    assert found.title == "Tensors made one by one"
    assert "makes tensors of Python values or arrays, one by one" in found.why
    assert "torch.as_tensor(numpy.stack(rows))" in found.fix[0].code
    assert not [advice for advice in found.fix if "_foreach_" in advice.code]


@pytest.mark.parametrize(
    "unit", [("aten::lift_fresh", "aten::mul", "aten::index_add"), ("aten::empty", "aten::copy_", "aten::unsqueeze")]
)
def test_tensors_that_are_computed_with_are_not_only_made(unit: tuple[str, ...]) -> None:
    assert judged(RULE, world(unit=unit)).finding.title is None


def test_norms_and_elements_have_rules_of_their_own() -> None:
    norms = world(unit=("aten::linalg_vector_norm", "aten::pow"))
    assert run(RULE, norms).state is State.CLEAR
    assert run(NORMS, norms).state is State.FIRED
    elements = world(unit=("aten::select", "aten::pow"))
    assert run(RULE, elements).state is State.CLEAR
    assert run(ELEMENTS, elements).state is State.FIRED


@pytest.mark.parametrize(("tensors", "state"), [(24, State.CLEAR), (26, State.FIRED)])
def test_boundary(tensors: int, state: State) -> None:
    assert run(RULE, world(tensors=tensors)).state is state


def test_device_traces_without_host_ops_cannot_tell() -> None:
    builder = TraceBuilder()
    builder.kernel("k", 0, 100).kernel("k", 200, 100)
    assert run(RULE, builder).state is State.CANNOT_TELL


@pytest.mark.parametrize(("dur", "state"), [(3, State.FIRED), (18, State.CLEAR)])
def test_a_loop_that_starves_the_device_is_told_beside_a_full_queue(dur: float, state: State) -> None:
    """A model that is launched far ahead, and behind it an average of the weights, one by one: the median kernel is queued."""
    builder, at = TraceBuilder(), 0.0
    for number in range(3):
        begin = at
        for index in range(300):
            builder.op("aten::linear", at + index * 10, 9)
            builder.launch(at + 2 + index * 10, kernel_start=at + 20 + index * 20, kernel_dur=20, op=None, name="gemm")
        at += 6_030
        for _ in range(100):
            for op in ("aten::mul_", "aten::add_"):
                builder.op(op, at, 18)
                builder.launch(at + 1, kernel_start=at + 5, kernel_dur=dur, op=None, call_dur=2)
                at += 19
        builder.step(number, begin, at - begin)
    assert run(RULE, builder).state is state


def test_the_last_row_counts_although_it_is_short() -> None:
    """66 turns with another op after each fifteen: five rows, not four of fifteen."""
    builder = TraceBuilder(None)
    for number in range(4):
        at = now = number * STEP
        builder.step(number, at, STEP)
        for turn in range(66):
            for name in UNIT:
                builder.op(name, now, 8)
                now += 10
            if turn % 15 == 14:
                builder.op("aten::sort", now, 8)
                now += 10
        builder.op("aten::linear", now, at + STEP - now)
    assert "run 66 times a step, in 5 rows, in the step" in judged(RULE, builder).finding.why


@pytest.mark.parametrize(("pause", "state"), [(50, State.FIRED), (1_500, State.CLEAR)])
def test_what_a_turn_does_between_its_ops_for_long_is_no_calling_of_them(pause: float, state: State) -> None:
    """Images decoded one by one, each normalised by two ops, while the device waits: one call for all ops decodes none of them."""
    builder, at = TraceBuilder(), 0.0
    for number in range(4):
        begin = at
        for _ in range(20):
            at += pause
            for op in ("aten::div", "aten::sub_"):
                builder.op(op, at, 9)
                at += 10
        for _ in range(40):
            builder.op("aten::linear", at, 9)
            builder.launch(at + 2, kernel_start=at + 8, kernel_dur=1, op=None, name="gemm")
            at += 10
        builder.step(number, begin, at - begin)
    assert run(RULE, builder).state is state


def products(left: list[int] | None, right: list[int], *, op: str = "aten::matmul", each: int = 5) -> TraceBuilder:
    """Steps of 10 ms, half of each in products of such shapes, none recorded where the left one is None."""
    builder = TraceBuilder(None)
    for number in range(3):
        at = number * STEP
        builder.step(number, at, STEP)
        shapes = {"Input Dims": [left, right], "Input type": ["float", "float"]} if left is not None else {}
        for index in range(5_000 // each):
            builder.op(op, at + index * each, each, **shapes)
        builder.op("aten::relu", at + 5_000, 5_000)
    return builder


@pytest.mark.parametrize(
    ("left", "right", "fires"),
    [
        ([8, 64], [64, 8], True),
        ([4, 8, 64], [4, 64, 8], True),
        ([64, 64], [64, 64], False),  # each may take what the one before gave
        ([8, 64], [64, 64], False),
        ([4, 8, 64], [64, 8], False),  # stretched: what is given is not worked out
        ([64], [64, 8], False),
        (None, [64, 8], False),
    ],
)
def test_products_of_which_none_can_be_made_of_another_are_no_layers(
    left: list[int] | None, right: list[int], fires: bool
) -> None:
    result = run(RULE, products(left, right))
    assert (result.state is State.FIRED) is fires
    if fires:
        found = judged(RULE, products(left, right))
        assert found.ratio == pytest.approx(0.5 * (1 - 1 / 1_000), abs=1e-3)
        assert "torch.bmm(torch.stack(lefts)" in found.finding.fix[0].code
        assert "torch.cat(weights" in found.finding.fix[0].note


def test_long_products_and_those_of_layers_stay() -> None:
    assert run(RULE, products([8, 64], [64, 8], each=50)).state is State.CLEAR
    assert run(RULE, products([8, 64], [64, 8], op="aten::linear")).state is State.CLEAR
