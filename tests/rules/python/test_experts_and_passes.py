"""PY003: experts called one by one and gradients sample by sample; built worlds, and small loops recorded as they run here."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from analyzer.engine import run_rules
from analyzer.engine.trust import grade
from analyzer.facts import Facts
from analyzer.finding import Confidence, State
from building.builders import TraceBuilder
from programs.passes import of_history, sample_by_sample
from rules.python.python_overhead import RULE as PYTHON
from rules.python.repeated_small_ops import RULE
from running.one_rule import judged, run
from running.recording import recorded_steps

if TYPE_CHECKING:
    import torch

STEP = 10_000
EXPERT = ("aten::where", "aten::index", "aten::linear", "aten::index_add_")
NODE = "autograd::engine::evaluate_function: AddmmBackward0"


def experts(
    *, unit: tuple[str, ...] = EXPERT, turns: int = 20, product: float = 5, lead: float | None = None
) -> TraceBuilder:
    """Steps of 10 ms with 20 turns of four ops of 10 us, each layer with a product in it; then one long op."""
    builder = TraceBuilder(None if lead is None else "cuda")
    for number in range(3):
        at = number * STEP
        builder.step(number, at, STEP)
        for index in range(turns * len(unit)):
            when, name = at + 10 * index, unit[index % len(unit)]
            builder.op(name, when, 10)
            if name == "aten::linear" and lead is None:
                builder.op("aten::addmm", when + 1, product)
            elif lead is not None:
                builder.launch(when + 2, kernel_start=when + 4 + lead, kernel_dur=1, op=None, call_dur=2)
        rest = at + 10 * turns * len(unit)
        builder.op("aten::relu", rest, at + STEP - rest)
        if lead is not None:
            builder.launch(rest, kernel_start=rest + 5 + lead, kernel_dur=at + STEP - rest - 10 - lead, op=None)
    return builder


def test_experts_cost_what_is_no_product() -> None:
    found = judged(RULE, experts()).finding
    assert found.title == "Experts called one by one"
    assert found.saving.kernel_ns == pytest.approx(3 * 20 * (40 - 5) * (1 - 1 / 20) * 1_000, rel=0.01)
    assert "grouped_mm" in found.fix[1].code
    assert found.references == ("https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.grouped_mm.html",)


@pytest.mark.parametrize(
    "unit",
    [
        ("aten::linear", "aten::relu", "aten::linear", "aten::add"),
        ("aten::index", "aten::linear", "aten::relu", "aten::add"),
        ("aten::linear", "aten::relu", "aten::linear", "aten::index_put_"),
    ],
)
def test_layers_without_rows_taken_and_written_back_are_no_experts(unit: tuple[str, ...]) -> None:
    assert run(RULE, experts(unit=unit)).state is State.CLEAR


@pytest.mark.parametrize(("turns", "state"), [(9, State.CLEAR), (13, State.FIRED)])
def test_boundary(turns: int, state: State) -> None:
    assert run(RULE, experts(turns=turns)).state is state


def test_experts_on_a_device_with_work_in_its_queue_are_no_loss() -> None:
    result = run(RULE, experts(lead=500))
    assert result.state is State.CLEAR
    assert "queued work" in result.reason


def test_many_passes_cost_all_turns_but_the_first() -> None:
    found = judged(RULE, sample_by_sample(each=10)).finding
    assert found.title == "One update, many backward passes"
    assert "runs 20 times for one update" in found.why
    assert found.saving.kernel_ns == 3 * 19 * 40 * 1_000
    assert found.saving.claims.total_ns == 3 * 19 * 10 * 1_000


def test_of_passes_made_of_long_ops_only_the_time_between_them_counts() -> None:
    found = judged(RULE, sample_by_sample()).finding
    assert (found.saving.kernel_ns, found.saving.claims.total_ns) == (0, 3 * 19 * 10 * 1_000)


@pytest.mark.parametrize(("starts_at", "ends_at"), [(10, 10), (10, 11), (11, 11), (9, 10)])
def test_times_in_whole_microseconds_hide_no_pass(starts_at: float, ends_at: float) -> None:
    """Torch before 2.4 rounds starts and durations down: the op that fills a gradient of 10 us may end behind it."""
    builder = sample_by_sample(each=10)
    for event in [event for event in builder.events if event["name"] == "aten::ones_like"]:
        builder.op("aten::fill_", event["ts"] + starts_at, ends_at - starts_at)
    for event in builder.events:
        if event["name"] == NODE:
            event["ts"], event["dur"] = event["ts"] + 2, event["dur"] - 2
    assert "runs 20 times for one update" in judged(RULE, builder).finding.why


def test_a_gradient_that_ends_with_its_pass_begun_is_counted() -> None:
    builder = sample_by_sample(each=10)
    for event in builder.events:
        if event["name"] == "aten::ones_like":
            event["dur"] += 1
    assert "runs 20 times for one update" in judged(RULE, builder).finding.why


def test_ones_that_are_no_gradient_begin_no_pass() -> None:
    builder = sample_by_sample(each=10)
    for event in [event for event in builder.events if event["name"] == "aten::ones_like"]:
        event["ts"] -= 20
    assert run(RULE, builder).state is State.CLEAR


def test_a_few_passes_accumulate_and_an_update_after_each_is_training() -> None:
    assert run(RULE, sample_by_sample(9)).state is State.CLEAR
    assert run(RULE, sample_by_sample(update_each=True)).state is State.CLEAR


def test_gradients_that_add_up_are_parts_of_one_batch_and_others_those_of_samples() -> None:
    assert "torch.func.grad" in judged(RULE, sample_by_sample(each=10)).finding.fix[0].code
    found = judged(RULE, sample_by_sample(each=10, adds_up=True)).finding
    assert "each adds its gradients to those of the one before" in found.why
    assert all("vmap" not in advice.code for advice in found.fix)


@pytest.mark.parametrize(
    ("how", "pages"),
    [
        ({}, ["per_sample_grads"]),
        ({"adds_up": True}, []),
        ({"receiving": 1}, ["torch.autograd.grad"]),
        ({"receiving": 1, "layer": "aten::select"}, ["torch.autograd.grad", "jacobians_hessians"]),
    ],
    ids=["of samples", "of parts", "of inputs", "of outputs"],
)
def test_the_pages_are_on_the_passes_that_were_found(how: dict[str, Any], pages: list[str]) -> None:
    found = judged(RULE, sample_by_sample(each=10, **how)).finding
    assert [address.rpartition("/")[2].removesuffix(".html") for address in found.references] == pages


@pytest.mark.parametrize(
    ("receiving", "layer", "words"),
    [
        (1, "aten::linear", "of its own input"),
        (1, "aten::select", "is_grads_batched=True"),
        (20, "aten::linear", "torch.func.grad"),
        (20, "aten::select", "torch.func.grad"),
        (0, "aten::select", "torch.func.grad"),
    ],
    ids=["of inputs", "of outputs", "of parameters", "of parameters through one graph", "not recorded"],
)
def test_passes_that_leave_no_gradient_with_a_parameter_are_calls_of_grad(
    receiving: int, layer: str, words: str
) -> None:
    found = judged(RULE, sample_by_sample(each=10, receiving=receiving, layer=layer)).finding
    first = found.fix[0]
    assert words in f"{first.code} {first.note}"
    assert ("torch.autograd.grad" in found.why) is (receiving == 1)


def test_of_one_graph_gone_through_again_the_time_between_ops_is_likely() -> None:
    anew, again = (
        judged(RULE, sample_by_sample(each=10, receiving=1, layer=layer)).finding
        for layer in ("aten::linear", "aten::select")
    )
    assert again.saving.total_ns == anew.saving.total_ns == anew.saving.usual_ns
    assert again.saving.usual_ns == again.saving.claims.total_ns == 3 * 19 * 10 * 1_000
    assert again.confidence is Confidence.LOW
    assert len(again.fix) == 2


@pytest.mark.parametrize(
    ("name", "unit", "state"),
    [
        ("LBFGS", ("aten::dot", "aten::mul", "aten::item", "aten::add_"), State.CLEAR),
        ("SGD", ("aten::dot", "aten::mul", "aten::item", "aten::add_"), State.FIRED),
        ("LBFGS", ("aten::abs", "aten::mul", "aten::item", "aten::add_"), State.FIRED),
    ],
)
def test_each_turn_through_the_history_of_an_optimizer_needs_the_one_before(
    name: str, unit: tuple[str, ...], state: State
) -> None:
    assert run(RULE, of_history(name, unit)).state is state


def test_their_time_is_nobody_elses() -> None:
    assert run(PYTHON, sample_by_sample(each=10)).state is State.CLEAR
    assert run(PYTHON, experts()).state is State.CLEAR


def record(path: Path, model: torch.nn.Module, passes: Callable[[], None]) -> Facts:
    """Training steps."""
    import torch

    optimizer = torch.optim.SGD(model.parameters(), 0.01)

    def step() -> None:
        optimizer.zero_grad()
        passes()
        optimizer.step()

    return recorded_steps(path, step)


def titles(facts: Facts) -> list[str | None]:
    (result,) = run_rules(facts, (RULE,), grade(facts))
    return [finding.title for finding in result.findings]


def test_recorded_here_experts_in_a_loop_are_named_and_one_product_for_all_is_quiet(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    experts = torch.nn.ModuleList(torch.nn.Linear(8, 8) for _ in range(16))
    x, group = torch.randn(64, 8), torch.arange(64) % 16

    def looped() -> None:
        y = torch.zeros(64, 8)
        for number, expert in enumerate(experts):
            (rows,) = torch.where(group == number)
            y = y.index_add(0, rows, torch.relu(expert(x[rows])))
        y.square().mean().backward()

    def at_once() -> None:
        weights = torch.stack([expert.weight for expert in experts])
        order = group.argsort()
        torch.bmm(x[order].view(16, 4, 8), weights).relu().square().mean().backward()

    assert "Experts called one by one" in titles(record(tmp_path / "loop.json", experts, looped))
    assert "Experts called one by one" not in titles(record(tmp_path / "once.json", experts, at_once))


def test_recorded_here_gradients_sample_by_sample_are_named_and_one_pass_is_quiet(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    model = torch.nn.Linear(8, 4)
    x, target = torch.randn(24, 8), torch.arange(24) % 4

    def loss_of(weights: dict[str, torch.Tensor], one: torch.Tensor, wanted: torch.Tensor) -> torch.Tensor:
        output = torch.func.functional_call(model, weights, (one[None],))
        return torch.nn.functional.cross_entropy(output, wanted[None])

    def looped() -> None:
        for index in range(24):
            torch.nn.functional.cross_entropy(model(x[index : index + 1]), target[index : index + 1]).backward()

    def apart() -> None:
        for index in range(24):
            model.zero_grad()
            torch.nn.functional.cross_entropy(model(x[index : index + 1]), target[index : index + 1]).backward()

    def at_once() -> None:
        weights = {name: weight.detach() for name, weight in model.named_parameters()}
        found = torch.func.vmap(torch.func.grad(loss_of), in_dims=(None, 0, 0))(weights, x, target)
        for name, weight in model.named_parameters():
            weight.grad = found[name].sum(0)

    slow = record(tmp_path / "loop.json", model, looped)
    assert slow.loops.backward_passes.passes == 24 * slow.loops.backward_passes.updates > 0
    assert "One update, many backward passes" in titles(slow)
    assert slow.loops.backward_passes.adds_up
    assert not slow.loops.backward_passes.returns
    assert not record(tmp_path / "apart.json", model, apart).loops.backward_passes.adds_up
    fast = record(tmp_path / "once.json", model, at_once)
    assert fast.loops.backward_passes.updates == 0


def test_recorded_here_gradients_of_inputs_and_second_derivatives_are_told_apart(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    model = torch.nn.Sequential(torch.nn.Linear(12, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
    x = torch.randn(24, 12)

    def penalty() -> None:
        inputs = x.clone().requires_grad_()
        total = torch.zeros(())
        for index in range(24):
            (gradient,) = torch.autograd.grad(model(inputs[index : index + 1]).sum(), inputs, create_graph=True)
            total = total + (gradient.norm() - 1) ** 2
        total.backward()

    def laplacian() -> None:
        inputs = x.clone().requires_grad_()
        (slope,) = torch.autograd.grad(model(inputs).sum(), inputs, create_graph=True)
        twice = [torch.autograd.grad(slope[:, k].sum(), inputs, create_graph=True)[0][:, k] for k in range(12)]
        torch.stack(twice).square().mean().backward()

    apart = record(tmp_path / "penalty.json", model, penalty).loops.backward_passes
    assert (apart.returns, apart.over_one_graph, apart.adds_up) == (True, False, False)
    assert not apart.of_weights
    again = record(tmp_path / "laplacian.json", model, laplacian).loops.backward_passes
    assert (again.returns, again.over_one_graph, again.adds_up) == (True, True, False)


def test_recorded_here_gradients_by_which_tasks_adapt_weights_are_no_penalty(tmp_path: Path) -> None:
    """Meta-learning: eight tasks, of which each adapts the weights twice before its loss."""
    torch = pytest.importorskip("torch")
    model = torch.nn.Sequential(torch.nn.Linear(12, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
    x = torch.randn(8, 12)

    def adapted() -> None:
        total = torch.zeros(())
        for one in x:
            weights = dict(model.named_parameters())
            for _ in range(2):
                loss = torch.func.functional_call(model, weights, (one[None],)).square().sum()
                slopes = torch.autograd.grad(loss, tuple(weights.values()), create_graph=True)
                weights = {name: w - 0.1 * by for (name, w), by in zip(weights.items(), slopes, strict=True)}
            total = total + torch.func.functional_call(model, weights, (one[None],)).square().sum()
        total.backward()

    facts = record(tmp_path / "tasks.json", model, adapted)
    assert facts.loops.backward_passes.of_weights
    (result,) = run_rules(facts, (RULE,), grade(facts))
    (finding,) = [one for one in result.findings if one.title == "One update, many backward passes"]
    assert "task by task" in finding.why
    assert [("vmap" in one.code, "in meta-learning" in (one.note or "")) for one in finding.fix] == [
        (True, True),
        (True, False),
    ]


def model_by_sample(
    unit: tuple[str, ...], turns: int = 20, *, each: float = 10, device: str | None = None, lead: float = 3
) -> TraceBuilder:
    """Steps of 10 ms: the unit once a turn, each op of `each` us and 2 us of Python behind it; then one backward pass."""
    builder = TraceBuilder(device)
    for number in range(3):
        at = number * STEP
        builder.step(number, at, STEP)
        for index in range(turns * len(unit)):
            when = at + (each + 2) * index
            builder.op(unit[index % len(unit)], when, each, **{"Sequence number": 1_000 * number + index})
            if unit[index % len(unit)] == "aten::linear":
                builder.op("aten::addmm", when + 1, each / 2)
            if device is not None:
                builder.launch(when + 2, kernel_start=when + 4 + lead, kernel_dur=1, op=None, call_dur=2)
        end = at + (each + 2) * turns * len(unit)
        builder.op(NODE, end, at + 9_000 - end, **{"Sequence number": 1_000 * number + 999})
        if device is not None:
            builder.launch(end, kernel_start=end + 5 + lead, kernel_dur=at + STEP - end - 10 - lead, op=None)
        builder.optimizer(at + 9_000, 900)
    return builder


PERCEPTRON = ("aten::linear", "aten::relu", "aten::linear", "aten::cross_entropy_loss", "aten::add")
NAMES = ("aten::zeros", "aten::lstm", "aten::select", "aten::linear", "aten::nll_loss_nd", "aten::add")


def test_samples_one_by_one_cost_what_is_no_product() -> None:
    found = judged(RULE, model_by_sample(NAMES))
    assert found.finding.title == "Model called sample by sample"
    assert "runs 20 times for one backward pass" in found.finding.why
    assert found.finding.saving.kernel_ns == pytest.approx(3 * 20 * (60 - 5) * (1 - 1 / 20) * 1_000, rel=0.01)
    assert found.confidence is Confidence.MEDIUM
    assert "pack_sequence" in found.finding.fix[1].code


def test_without_a_state_that_begins_anew_both_readings_are_said() -> None:
    found = judged(RULE, model_by_sample(PERCEPTRON))
    assert found.confidence is Confidence.LOW
    assert "one before cannot be joined" in found.finding.caveats[0]
    assert "heads" not in found.finding.caveats[0]
    assert "heads" in judged(RULE, model_by_sample(("aten::linear", "aten::mse_loss", "aten::add"))).finding.caveats[0]


@pytest.mark.parametrize(
    "unit",
    [
        pytest.param(
            ("aten::lstm", "aten::select", "aten::linear", "aten::nll_loss_nd", "aten::add"), id="a state is handed on"
        ),
        pytest.param(
            ("aten::cat", "aten::linear", "aten::linear", "aten::nll_loss_nd", "aten::add"), id="a state is joined"
        ),
        pytest.param(("aten::linear", "aten::relu", "aten::linear", "aten::add"), id="layers without a loss"),
        pytest.param(("aten::embedding", "aten::linear", "aten::argmax", "aten::item"), id="generation"),
        pytest.param(
            ("aten::select", "aten::linear", "aten::tanh", "aten::linear", "aten::mse_loss"), id="a cell by hand"
        ),
    ],
)
def test_turns_that_need_the_one_before_are_no_samples(unit: tuple[str, ...]) -> None:
    assert run(RULE, model_by_sample(unit)).state is State.CLEAR


def test_a_few_passes_or_long_ones_are_a_batch_in_parts() -> None:
    assert run(RULE, model_by_sample(PERCEPTRON, turns=9)).state is State.CLEAR
    found = judged(RULE, model_by_sample(PERCEPTRON, turns=12, each=100)).finding
    # Of ops that compute for long only the time between them counts.
    assert (found.saving.kernel_ns, found.saving.claims.total_ns) == (
        0,
        pytest.approx(3 * 59 * 2 * (1 - 1 / 12) * 1_000, rel=0.01),
    )


def test_accumulated_gradients_are_no_samples() -> None:
    assert [found.title for found in run(RULE, sample_by_sample(each=10)).findings] == [
        "One update, many backward passes"
    ]


def test_samples_on_a_device_with_work_in_its_queue_are_no_loss() -> None:
    assert run(RULE, model_by_sample(PERCEPTRON, turns=130, device="cuda")).state is State.FIRED
    result = run(RULE, model_by_sample(PERCEPTRON, device="cuda", lead=500))
    assert (result.state, "queued work" in result.reason) == (State.CLEAR, True)


@pytest.mark.slow
def test_recorded_here_samples_one_by_one_are_named_and_a_batch_is_quiet(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    rnn, out = torch.nn.RNN(8, 16), torch.nn.Linear(16, 4)
    model = torch.nn.ModuleList([rnn, out])
    names = [torch.randn(3 + index % 5, 1, 8) for index in range(24)]
    target = torch.arange(24) % 4

    def looped() -> None:
        loss = 0
        for index in range(24):
            loss = loss + torch.nn.functional.cross_entropy(out(rnn(names[index])[1][0]), target[index : index + 1])
        loss.backward()

    def at_once() -> None:
        packed = torch.nn.utils.rnn.pack_sequence([name.flatten(1) for name in names], enforce_sorted=False)
        torch.nn.functional.cross_entropy(out(rnn(packed)[1][0]), target).backward()

    def in_parts() -> None:
        for _ in range(12):
            packed = torch.nn.utils.rnn.pack_sequence([name.flatten(1) for name in names], enforce_sorted=False)
            torch.nn.functional.cross_entropy(out(rnn(packed)[1][0]), target).div(12).backward()

    wanted = "Model called sample by sample"
    assert wanted in titles(record(tmp_path / "loop.json", model, looped))
    assert wanted not in titles(record(tmp_path / "once.json", model, at_once))
    assert wanted not in titles(record(tmp_path / "parts.json", model, in_parts))


@pytest.mark.parametrize(("name", "state"), [("LBFGS", State.CLEAR), ("SGD", State.FIRED)])
def test_passes_of_an_optimizer_that_searches_along_a_line_are_its_own(name: str, state: State) -> None:
    """LBFGS calls its closure some twenty times a step: each pass needs the result of the one before."""
    builder = sample_by_sample(each=10)
    for event in builder.events:
        if str(event["name"]).startswith("Optimizer.step#"):
            event["name"] = f"Optimizer.step#{name}.step"
    assert run(RULE, builder).state is state
