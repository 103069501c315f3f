"""PY006: recurrent cells called once per element of a sequence; built worlds, and small loops recorded as they run here."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from analyzer.engine import run_rules
from analyzer.engine.trust import grade
from analyzer.facts import Facts
from analyzer.facts.loops.recurrence import recurrences
from analyzer.finding import Confidence, Severity, State
from building.builders import TraceBuilder
from rules.python.element_loop import RULE as ELEMENTS
from rules.python.python_overhead import RULE as PYTHON
from rules.python.repeated_small_ops import RULE as SMALL
from rules.python.stepped_recurrence import RULE
from running.one_rule import judged, run
from running.recording import recorded_steps

if TYPE_CHECKING:
    import torch

STEP = 10_000
UNIT = ("aten::select", "aten::lstm_cell")
SCAN = ("aten::slice", "aten::select", "aten::mul", "aten::select", "aten::add", "aten::select", "aten::einsum")
BY_HAND = ("aten::select", "aten::linear", "aten::linear", "aten::add", "aten::tanh")


def world(
    *, turns: int = 40, each: float = 48, unit: tuple[str, ...] = UNIT, device: str | None = None, lead: float = 3
) -> TraceBuilder:
    """Steps of 10 ms that begin with the unit once per turn, each op of `each` us and 2 us of Python behind it.

    A product fills half of each op; on a device each op launches a product of 4 us and another kernel of 2 us.
    """
    builder = TraceBuilder(device)
    for number in range(3):
        at = number * STEP
        builder.step(number, at, STEP)
        for index in range(turns * len(unit)):
            when = at + index * (each + 2)
            builder.op(unit[index % len(unit)], when, each)
            if device is None:
                builder.op("aten::addmm", when + 1, each / 2)
            else:
                for place, (name, dur) in enumerate((("ampere_sgemm_32x32_tn", 4), ("lstm_pointwise", 2))):
                    begin = when + 5 + 15 * place
                    builder.launch(begin, name=name, kernel_start=begin + 4 + lead, kernel_dur=dur, op=None, call_dur=4)
        rest = at + turns * len(unit) * (each + 2)
        builder.op("aten::relu", rest, at + STEP - rest)
        if device:
            builder.launch(rest, kernel_start=rest + 5 + lead, kernel_dur=at + STEP - rest - 10 - lead, op=None)
    return builder


def test_a_turn_that_reads_a_value_may_need_the_one_before() -> None:
    """A solver looks at its time before each step; a cell that torch has in one call is one all the same."""
    assert judged(RULE, world(unit=BY_HAND)).finding.confidence is Confidence.LOW
    outcome = run(RULE, world(unit=("aten::lt", "aten::is_nonzero", *BY_HAND), turns=20))
    assert outcome.state is State.CANNOT_TELL
    assert "reads a value in each turn" in outcome.reason
    cell = judged(RULE, world(unit=("aten::select", "aten::is_nonzero", "aten::lstm_cell"), turns=20))
    assert cell.finding.title == "LSTM cell stepped from Python"


def test_fires_on_the_cpu_with_all_but_one_turn_and_half_of_the_products() -> None:
    found = judged(RULE, world())
    inside = 3 * (80 * 48 - 80 * 24 / 2) * (1 - 1 / 40)
    between = 3 * 79 * 2 * (1 - 1 / 40)
    assert found.finding.saving.kernel_ns == pytest.approx(inside * 1_000, abs=2)
    assert found.finding.saving.claims.total_ns == pytest.approx(between * 1_000, abs=500)
    assert (found.severity, found.confidence) == (Severity.HIGH, Confidence.HIGH)
    assert found.finding.title == "LSTM cell stepped from Python"
    assert "run 40 times in a row" in found.finding.why
    assert "nn.LSTM(n, h)" in found.finding.fix[0].code


@pytest.mark.parametrize(
    ("op", "told", "between_alone"),
    [
        ("aten::gru_cell", {}, True),
        ("aten::rnn_tanh_cell", {}, True),
        ("aten::lstm_cell", {"parameters": 100, "bytes": 800}, True),
        ("aten::lstm_cell", {"parameters": 100, "bytes": 400}, False),
        ("aten::lstm_cell", {}, False),
    ],
)
def test_on_the_cpu_only_an_lstm_in_32_bits_has_one_op_for_all_turns(
    op: str, told: dict[str, int], between_alone: bool
) -> None:
    builder = world(unit=("aten::select", op))
    builder.top["advisor"] = {"model": told}
    found = judged(RULE, builder).finding
    assert (found.saving.kernel_ns == 0) is between_alone
    assert found.saving.claims.total_ns == pytest.approx(3 * 79 * 2 * (1 - 1 / 40) * 1_000, abs=500)
    assert any("64 bits" in caveat for caveat in found.caveats) is (op == "aten::lstm_cell" and not told)


def test_the_types_of_products_say_the_bits_before_what_parameters_take() -> None:
    for kind, between_alone in (("double", True), ("float", False)):
        builder = world()
        builder.top["advisor"] = {"model": {"parameters": 100, "bytes": 400 if kind == "double" else 800}}
        for event in builder.events:
            if event["name"] == "aten::addmm":
                event["args"]["Input type"] = [kind, kind]
        assert (judged(RULE, builder).finding.saving.kernel_ns == 0) is between_alone


@pytest.mark.parametrize("name", ["aten::gru_cell", "aten::lstm_cell"])
def test_on_a_device_every_layer_has_kernels_for_all_turns(name: str) -> None:
    assert judged(RULE, world(unit=("aten::select", name), device="cuda")).finding.saving.kernel_ns


def test_of_the_backward_products_a_quarter_stays() -> None:
    """Twenty turns of two ops, and a node of 1 ms for each with a product of 0.8 ms."""
    builder = TraceBuilder(None)
    for number in range(3):
        at = number * 100_000
        builder.step(number, at, 100_000)
        for turn in range(20):
            when = at + 200 * turn
            builder.op("aten::select", when, 50)
            builder.op("aten::lstm_cell", when + 100, 100, **{"Sequence number": 100 * number + turn})
        for turn in range(20):
            when = at + 10_000 + 1_000 * turn
            name = "autograd::engine::evaluate_function: AddmmBackward0"
            builder.op(name, when, 1_000, **{"Sequence number": 100 * number + 19 - turn})
            builder.op("aten::mm", when + 100, 800)
    found = judged(RULE, builder).finding
    # The last op's number may be that of what follows the loop: its node is not counted.
    inside = 3 * (20 * 150 + 19 * (1_000 - 800 / 4)) * (1 - 1 / 20)
    assert found.saving.kernel_ns == pytest.approx(inside * 1_000, rel=0.01)


@pytest.mark.parametrize("device", ["cuda", "rocm"])
def test_on_a_device_the_idle_time_and_the_kernels_less_half_of_the_products(device: str) -> None:
    found = judged(RULE, world(device=device)).finding
    assert found.saving.kernel_ns == pytest.approx(3 * 80 * (4 / 2 + 2) * (1 - 1 / 40) * 1_000, rel=0.01)
    # Each op lasts 50 us with what follows it; its kernels take 6 of them.
    assert found.saving.claims.total_ns == pytest.approx(3 * 80 * 44 * (1 - 1 / 40) * 1_000, rel=0.02)


def test_on_a_device_only_where_launches_limit_the_step() -> None:
    result = run(RULE, world(device="cuda", lead=3_000))
    assert result.state is State.CLEAR
    assert "enough queued work" in result.reason


@pytest.mark.parametrize(
    ("name", "cell"),
    [
        ("aten::lstm_cell", "LSTM"),
        ("aten::_thnn_fused_lstm_cell", "LSTM"),
        ("aten::gru_cell", "GRU"),
        ("aten::_thnn_fused_gru_cell", "GRU"),
        ("aten::rnn_tanh_cell", "RNN"),
        ("aten::rnn_relu_cell", "RNN"),
    ],
)
def test_torchs_cells_are_called_by_their_layer(name: str, cell: str) -> None:
    found = judged(RULE, world(unit=("aten::select", name))).finding
    assert found.confidence is Confidence.HIGH
    assert f"+rnn = nn.{cell}(n, h)" in found.fix[0].code


def test_a_cell_by_hand_is_said_with_low_confidence_and_without_a_promise_that_it_is_one() -> None:
    found = judged(RULE, world(unit=BY_HAND, each=30))
    assert found.confidence is Confidence.LOW
    assert found.finding.title == "Layers stepped from Python"
    assert "does not tell" in found.finding.caveats[0]


def test_a_linear_recurrence_is_told_as_a_scan_with_low_confidence() -> None:
    found = judged(RULE, world(unit=SCAN, turns=20, each=30))
    assert found.confidence is Confidence.LOW
    assert found.finding.title == "Scan stepped from Python"
    assert "linear recurrence" in found.finding.why
    assert ["cumsum(1)" in advice.code for advice in found.finding.fix] == [False, True, False]
    assert judged(RULE, world(unit=BY_HAND, each=30)).finding.title != found.finding.title


@pytest.mark.parametrize(
    "unit",
    [
        # Deep networks: layer after layer, gated or not; experts; heads; a loss of samples.
        ("aten::linear", "aten::tanh"),
        ("aten::linear", "aten::split", "aten::sigmoid", "aten::mul"),
        ("aten::linear", "aten::slice", "aten::slice", "aten::sigmoid", "aten::mul"),
        ("aten::index", "aten::linear", "aten::relu", "aten::linear", "aten::index_put_"),
        ("aten::select", "aten::matmul", "aten::softmax", "aten::matmul"),
        ("aten::select", "aten::sigmoid", "aten::log", "aten::add"),
        # Attention head by head, scaled and masked; a scaled layer with a bias on one element a turn.
        ("aten::select", "aten::select", "aten::matmul", "aten::mul", "aten::add", "aten::softmax", "aten::matmul"),
        ("aten::select", "aten::mm", "aten::mul", "aten::add"),
    ],
)
def test_other_loops_are_not_cells(unit: tuple[str, ...]) -> None:
    assert run(RULE, world(unit=unit, turns=20, each=30)).state is State.CLEAR


@pytest.mark.parametrize(("turns", "state"), [(9, State.CLEAR), (10, State.FIRED)])
def test_boundary(turns: int, state: State) -> None:
    assert run(RULE, world(turns=turns)).state is state


@pytest.mark.parametrize(("each", "state"), [(10.4, State.CLEAR), (10.6, State.FIRED)])
def test_boundary_of_the_share(each: float, state: State) -> None:
    # 40 ops with 2 us behind each, but the last: 5 % of 10 ms are 500 us.
    assert run(RULE, world(turns=20, each=each)).state is state


def test_an_op_of_no_length_at_the_end_of_another_is_taken_as_inside_it() -> None:
    """Torch before 2.4 writes whole microseconds: what an op calls last may begin, rounded, where it ends."""
    builder = world()
    starts = sorted(event["ts"] for event in builder.events if event["name"] == UNIT[0])
    for at in starts[5::9]:
        builder.op("aten::as_strided", at + 48, 0)
    (found,) = (loop for loop in Facts(builder.trace()).loops.found if loop.steps_a_cell)
    assert (found.unit, found.repeats, found.runs) == (UNIT, 3 * 40, 3)


def test_device_traces_without_host_ops_cannot_tell() -> None:
    builder = TraceBuilder("cuda")
    builder.kernel("k", 0, 100).kernel("k", 200, 100)
    assert run(RULE, builder).state is State.CANNOT_TELL


def test_its_time_is_nobody_elses() -> None:
    assert run(ELEMENTS, world()).state is State.CLEAR
    assert run(SMALL, world()).state is State.CLEAR
    assert run(PYTHON, world()).state is State.CLEAR


def stepped(cell: torch.nn.Module, inputs: torch.Tensor) -> torch.Tensor:
    """The cell over the first dimension, turn by turn."""
    import torch

    state = None
    for part in range(len(inputs)):
        given = cell(inputs[part], state)
        state = given
    assert state is not None
    return state[0] if isinstance(cell, torch.nn.LSTMCell) else state


def whole(layer: torch.nn.Module, inputs: torch.Tensor) -> torch.Tensor:
    """The layer over the whole sequence."""
    output: torch.Tensor = layer(inputs)[0][-1]
    return output


def record(path: Path, model: torch.nn.Module, forward: Callable[..., torch.Tensor]) -> Facts:
    """Training steps over 16 elements."""
    import torch

    optimizer = torch.optim.SGD(model.parameters(), 0.01)
    inputs = torch.randn(16, 4, 8)

    def step() -> None:
        optimizer.zero_grad()
        forward(model, inputs).square().mean().backward()
        optimizer.step()

    return recorded_steps(path, step)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
def test_recorded_here_the_cell_is_named_and_the_layer_is_quiet(kind: str, tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    cell, layer = getattr(torch.nn, f"{kind}Cell")(8, 8), getattr(torch.nn, kind)(8, 8)
    slow = record(tmp_path / "cell.json", cell, stepped)
    fast = record(tmp_path / "layer.json", layer, whole)
    (found,) = recurrences(slow.trace, slow.device, slow.time, slow.loops.found, slow.kernels)
    # The first turn of each step also makes its state, so that it is not one of the repetitions.
    assert (found.cell, found.loop.repeats) == (kind, 3 * 15)
    assert found.loop.backward.total_ns > 0
    assert recurrences(fast.trace, fast.device, fast.time, fast.loops.found, fast.kernels) == ()
    (result,) = run_rules(slow, (RULE,), grade(slow))
    assert [one.title for one in result.findings] == [f"{kind} cell stepped from Python"]


@pytest.mark.parametrize(
    ("unit", "title"),
    [
        (("aten::select", "aten::embedding", "aten::lstm", "aten::linear"), "LSTM layer stepped from Python"),
        (("aten::select", "aten::embedding", "aten::gru", "aten::linear"), "GRU layer stepped from Python"),
        # A sample of its own in each turn, with a state of its own.
        (("aten::select", "aten::zeros", "aten::lstm", "aten::linear"), None),
        # A piece of a sequence, as of truncated backpropagation.
        (("aten::slice", "aten::embedding", "aten::lstm", "aten::linear"), None),
    ],
)
def test_a_layer_that_gets_one_element_and_the_state_of_the_turn_before_is_a_cell(
    unit: tuple[str, ...], title: str | None
) -> None:
    result = run(RULE, world(turns=20, unit=unit))
    assert [one.title for one in result.findings] == ([title] if title else [])
    if title:
        (found,) = result.findings
        assert found.confidence is Confidence.MEDIUM
        assert "called for one element of a sequence at a time" in found.why
        assert "+outputs, hidden = rnn(embed(x), hidden)" in found.fix[0].code


def test_half_of_the_op_of_a_whole_layer_stays() -> None:
    unit = ("aten::select", "aten::lstm")
    plain, fused = world(unit=unit), world(unit=unit)
    for event in fused.events:
        if event["name"] == "aten::addmm":
            event["name"] = "aten::mkldnn_rnn_layer"
    assert judged(RULE, fused).finding.saving.kernel_ns == judged(RULE, plain).finding.saving.kernel_ns
    for event in fused.events:
        if event["name"] == "aten::mkldnn_rnn_layer":
            event["name"] = "aten::copy_"
    assert judged(RULE, fused).finding.saving.kernel_ns > judged(RULE, plain).finding.saving.kernel_ns
