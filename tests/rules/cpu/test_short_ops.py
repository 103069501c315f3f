"""CP005: steps of 1 ms on the CPU, made of ops that are short or long, close together or far apart."""

from __future__ import annotations

import pytest

from analyzer.explain import explain_facts
from analyzer.facts import Facts
from analyzer.finding import State
from building.builders import TraceBuilder
from rules import RULES
from rules.cpu.short_ops import RULE
from rules.python.python_overhead import RULE as PYTHON
from running.one_rule import judged, run

STEP = 1_000
SCRIPT = "train.py(3): <module>"
TORCH = "torch/nn/modules/module.py(1791): _call_impl"


def world(
    *,
    ops: int = 24,
    op: float = 10,
    apart: float = 40,
    update: float = 0,
    frame: str = "",
    reads: int = 0,
    **top: object,
) -> TraceBuilder:
    """Six steps.

    Args:
        ops: How many.
        op: How long each takes, in us.
        apart: From the beginning of one to that of the next.
        update: How long the optimizer takes.
        frame: What runs between the ops, below the script, by stacks; empty where none are recorded.
        reads: How many of the ops are followed by the reading of a value.
        top: What the collector recorded.
    """
    builder = TraceBuilder(None, advisor=top) if top else TraceBuilder(None)
    for number in range(6):
        at = number * STEP
        builder.step(number, at, STEP)
        for index in range(ops):
            builder.op("aten::linear", at + apart * index, op)
            if index < reads:
                builder.op("aten::item", at + apart * index + op + 2, 1)
            if frame:
                builder.python(frame, at + apart * index + op, apart - op)
        if frame:
            builder.python(SCRIPT, at, STEP - 1)
        if update:
            builder.optimizer(at + STEP - update - 5, update)
    return builder


def test_half_of_what_is_paid_for_each_op_is_what_twice_the_samples_save() -> None:
    """24 ops of 10 us, and as many ways, of 30 us each, of which 20 count: 720 us."""
    found = judged(RULE, world())
    assert found.ratio == pytest.approx(0.36, abs=0.02)
    assert "batch_size" in found.finding.fix[0].code
    assert any("--stacks" in caveat for caveat in found.finding.caveats)


def test_ops_that_compute_are_not_paid_for_being_called() -> None:
    assert run(RULE, world(op=38)).state is State.CLEAR
    assert run(RULE, world(op=38, apart=41, ops=24)).state is State.CLEAR


def test_of_a_long_stretch_the_way_to_the_next_op_is_a_short_part() -> None:
    """Nine ops of 10 us with 90 us between them: 270 us of 1 ms are paid for them."""
    result = run(RULE, world(ops=9, apart=100))
    assert result.state is State.CLEAR
    assert "takes 27 % of the step" in result.reason


@pytest.mark.parametrize(("unprofiled", "ratio"), [(1_000_000, 0.36), (500_000, 0.11)])
def test_what_the_profiler_adds_is_not_paid_without_it(unprofiled: int, ratio: float) -> None:
    """Of 720 us that are paid 500 are the profiler's: of 500 us that are left of the step half of 220 is saved, of 1 ms 11 %."""
    builder = world(profiled_step_ns=1_000_000, unprofiled_step_ns=unprofiled)
    found = judged(RULE, builder, {"min_ratio": 0.4})
    assert found.ratio == pytest.approx(ratio, abs=0.02)
    assert ("the profiler's" in found.finding.why) is (unprofiled < 1_000_000)


def test_where_the_profiler_adds_most_of_it_less_is_paid() -> None:
    result = run(RULE, world(profiled_step_ns=1_000_000, unprofiled_step_ns=400_000))
    assert result.state is State.CLEAR
    assert "most of it computes" in result.reason


@pytest.mark.parametrize(("ops", "state"), [(6, State.CLEAR), (8, State.FIRED)])
def test_a_step_of_few_ops_has_no_many(ops: int, state: State) -> None:
    assert run(RULE, world(ops=ops, apart=40, update=300)).state is state


def test_the_update_is_paid_once_a_step_however_many_samples_there_are() -> None:
    less, more = (judged(RULE, world(ops=20, apart=38, update=update)).ratio for update in (5, 205))
    assert more - less == pytest.approx(0.1, abs=0.02)


def test_the_size_of_the_batch_is_named_where_it_was_recorded() -> None:
    found = judged(RULE, world(loader={"batch_size": 2})).finding
    assert found.fix[0].code == "-batch_size = 2\n+batch_size = 4"


@pytest.mark.parametrize(
    ("told", "drawn"),
    [
        ({"command": ["advisor"], "loader": None}, False),
        ({"command": ["advisor"], "loader": {"num_workers": 0}}, True),
        ({"command": ["advisor"], "loader": {"batch_size": 2}}, True),
        ({}, True),  # by hand: what draws there nobody knows
    ],
)
def test_a_fit_of_all_data_at_once_is_told_that_it_has_no_batch(told: dict[str, object], drawn: bool) -> None:
    """A Gaussian process, whose steps L-BFGS takes, was told to double its batch without a word on that."""
    found = judged(RULE, world(**told)).finding
    note = found.fix[0].note or ""
    # One sequence after the other, as in tutorials, or all data at once: nobody knows which.
    assert ("pad_sequence" in note, "has no batch" in note) == (not drawn, not drawn)
    assert "batch_size" in found.fix[0].code


@pytest.mark.parametrize(("reads", "asks"), [(0, False), (1, False), (8, True)])
def test_a_policy_is_asked_once_for_all(reads: int, asks: bool) -> None:
    """A value read between layers again and again is an answer that the program acts on."""
    found = judged(RULE, world(reads=reads, frameworks={"imported": {"gymnasium": "1.0"}})).finding
    assert ("policy(" in found.fix[0].code) is asks


def test_who_reads_answers_in_turn_need_not_step_a_simulator() -> None:
    """An ODE's solver reads the size of its next step: it was told of environments alone."""
    first, second, *_ = judged(RULE, world(reads=8)).finding.fix
    assert "more samples" in first.code
    assert "solver" in (first.note or "")
    assert "policy(" in second.code


def test_stacks_tell_the_programs_own_code_from_the_way_to_the_next_op() -> None:
    found = judged(RULE, world(frame=TORCH)).finding
    assert not any("--stacks" in caveat for caveat in found.caveats)
    own = run(RULE, world(frame="train.py(40): simulate"))
    assert own.state is State.CLEAR
    assert "the program's own code" in own.reason


def test_what_a_device_computes_is_not_the_cpus() -> None:
    builder = world()
    for number in range(6):
        builder.launch(number * STEP + 2, kernel_start=number * STEP + 20, kernel_dur=900)
    assert run(RULE, builder).state is State.NOT_APPLICABLE


@pytest.mark.parametrize(
    ("frame", "state", "words"),
    [
        ("", State.CANNOT_TELL, "--stacks"),
        (TORCH, State.CLEAR, "torch's own"),
        # A method of a tensor is torch's, whoever calls it; what a library does for the program is the program's.
        ("<built-in method item of Tensor object at 0x7f2b3c1d2ac0>", State.CLEAR, "torch's own"),
        ("<built-in function sorted>", State.FIRED, "host code outside any PyTorch op"),
        ("numpy/random/generator.py(9): normal", State.FIRED, "host code outside any PyTorch op"),
        ("train.py(40): simulate", State.FIRED, "`simulate` (train.py"),
    ],
)
def test_many_short_stretches_are_whose_the_stacks_say(frame: str, state: State, words: str) -> None:
    """Whoever has recorded with stacks is not asked to record with stacks."""
    found = run(PYTHON, world(frame=frame))
    assert found.state is state
    assert words in found.reason
    assert ("--stacks" in found.reason) is (not frame)


@pytest.mark.parametrize(
    ("frame", "words"), [(TORCH, "on the way from one op to the next"), ("train.py(40): simulate", "outside any op")]
)
def test_the_verdict_tells_the_way_to_ops_from_the_programs_code(frame: str, words: str) -> None:
    found = explain_facts(Facts(world(frame=frame).trace()), rules=RULES).analysis.summary.verdict
    assert found.bound_by == "python"
    assert words in found.text


LOADER = {"loader": {"batch_size": 1, "num_workers": 0}, "command": ["advisor"]}


def test_one_sample_in_each_step_pays_it_all_for_that_sample() -> None:
    """36 % of the step is below half of it; of one sample seven eighths of that would go."""
    few = {"ops": 12, "apart": 80, "op": 10.0}
    assert run(RULE, world(**few, loader={"batch_size": 2})).state is State.CLEAR  # type: ignore[arg-type]
    found = judged(RULE, world(**few, **LOADER))  # type: ignore[arg-type]
    assert found.ratio == pytest.approx(0.36 * 7 / 8, abs=0.02)
    assert found.finding.why.startswith("Each step takes one sample. ")
    assert found.finding.fix[0].code == "-batch_size = 1\n+batch_size = 8"
    assert "8 times the samples" in found.finding.verify


@pytest.mark.parametrize(
    "told", [{"dataset": {"length": 1}}, {"loader": {"batch_size": None}, "batch_size": 1}, {"loader": None}]
)
def test_a_data_set_of_one_sample_has_no_more(told: dict[str, object]) -> None:
    """One graph, whole batches of the data set's own, or no loader at all."""
    assert run(RULE, world(ops=12, apart=80, **(LOADER | told))).state is State.CLEAR  # type: ignore[arg-type]


def test_the_batch_is_one_of_the_programs_own_line() -> None:
    line = "loader = DataLoader(data, batch_size=1, shuffle=True)"
    made = {"class": "DataLoader", "package": None, "function": None, "file": "a.py", "line": 3, "text": line}
    found = judged(RULE, world(**LOADER, loader_made=[made])).finding
    assert found.fix[0].code == f"-{line}\n+{line.replace('=1', '=8')}"
    named = made | {"text": line.replace("=1", "=B")}
    assert judged(RULE, world(**LOADER, loader_made=[named])).finding.fix[0].code.startswith("-batch_size = 1")
