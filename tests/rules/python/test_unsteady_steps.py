"""PY005: one step of seven takes twice as long as the others, because the loader is late."""

from __future__ import annotations

from typing import Any

import pytest

from analyzer.engine import judge, run_rules
from analyzer.engine.trust import grade
from analyzer.facts import Facts
from analyzer.finding import Confidence, Severity, State
from building.builders import TraceBuilder
from rules import RULES
from rules.python.unsteady_steps import RULE
from running.one_rule import judged, run

STEP = 100_000


def world(
    *, late: float = 100_000, slow: tuple[int, ...] = (4,), steps: int = 7, compute: bool = False
) -> TraceBuilder:
    """Steps of 100 ms on the CPU, those in `slow` longer by `late` us, in the loader or in ops."""
    builder = TraceBuilder(None)
    at = 0.0
    for number in range(steps):
        more = late if number in slow else 0
        builder.step(number, at, STEP + more)
        wait = 10_000 + (0 if compute else more)
        builder.loader(at, wait)
        builder.op("aten::linear", at + wait, STEP + more - wait)
        at += STEP + more
    return builder


def test_fires_and_names_the_cause_that_differs() -> None:
    found = judged(RULE, world())
    assert found.finding.saving.claims.total_ns == pytest.approx(100_000_000, abs=2)
    assert (found.severity, found.confidence) == (Severity.MEDIUM, Confidence.MEDIUM)
    assert found.finding.why == (
        "1 step of 6 (#4) takes up to 2.0 times the median of 100 ms; 100 ms of the difference is `input`."
    )


@pytest.mark.parametrize(("compiled", "saved_ns"), [((1, 2), 0), ((1, 5), 2 * 100_000_000)])
def test_compiling_at_the_start_is_no_loss_of_each_step(compiled: tuple[int, ...], saved_ns: int) -> None:
    builder, at = TraceBuilder(None), 0.0
    for number in range(7):
        more = 100_000 if number in compiled else 0
        builder.step(number, at, STEP + more)
        if more:
            builder.annotation("_compile.compile_inner (dynamo_timed)", at, more)
        builder.op("aten::linear", at + more, STEP)
        at += STEP + more
    found = judged(RULE, builder)
    assert "of the difference is `compile`" in found.finding.why
    assert found.finding.saving.claims.total_ns == pytest.approx(saved_ns, abs=2)


@pytest.mark.parametrize(("usual", "state"), [(30_000, State.CLEAR), (20_000, State.FIRED)])
def test_a_loader_that_is_always_late_is_not_told_twice(usual: float, state: State) -> None:
    builder, at = TraceBuilder(None), 0.0
    for number in range(7):
        wait = usual + (100_000 if number == 4 else 0)
        builder.step(number, at, STEP + wait - usual)
        builder.loader(at, wait, workers=2)
        builder.op("aten::linear", at + wait, STEP - usual)
        at += STEP + wait - usual
    result = run(RULE, builder)
    assert result.state is state
    assert "DL001" in result.reason or state is State.FIRED


def test_more_work_is_no_saving() -> None:
    found = judged(RULE, world(compute=True))
    assert (found.severity, found.ns_per_step) == (Severity.INFO, 0)
    assert "work of the model itself" in found.finding.why


def test_accumulated_gradients_are_no_loss() -> None:
    """Every fourth step updates: longer by design, whatever OP001 says of the update."""
    builder, at = TraceBuilder(None), 0.0
    for number in range(9):
        more = 80_000 if number % 4 == 3 else 0
        builder.step(number, at, STEP + more)
        builder.op("aten::linear", at, STEP - 100)
        if more:
            builder.optimizer(at + STEP - 50, more)
        at += STEP + more
    found = judged(RULE, builder)
    assert (found.severity, found.ns_per_step) == (Severity.INFO, 0)
    assert "gradients are accumulated" in found.finding.why


def test_a_long_first_step_is_expected() -> None:
    assert run(RULE, world(slow=(0,))).state is State.CLEAR


@pytest.mark.parametrize(("late", "state"), [(49_000, State.CLEAR), (51_000, State.FIRED)])
def test_boundary(late: float, state: State) -> None:
    assert run(RULE, world(late=late)).state is state


def test_few_steps_cannot_tell() -> None:
    assert run(RULE, world(steps=5)).state is State.CANNOT_TELL


def test_guessed_steps_cannot_tell() -> None:
    builder = world()
    builder.events = [event for event in builder.events if not event["name"].startswith("ProfilerStep")]
    result = run(RULE, builder)
    assert result.state is State.CANNOT_TELL
    assert "prof.step()" in result.reason


def evaluates(
    *, batches: int = 40, batch_us: float = 100_000, holding: tuple[int, ...] = (4,), steps: int = 7
) -> TraceBuilder:
    """Steps of 100 ms that wait 10 ms for a batch, those in `holding` with so many batches of another loader behind it."""
    builder, at = TraceBuilder(None), 0.0
    for number in range(steps):
        more = batches if number in holding else 0
        length = STEP + more * batch_us
        builder.step(number, at, length)
        builder.loader(at, 10_000)
        builder.op("aten::linear", at + 10_000, STEP - 10_000)
        for batch in range(more):
            start = at + STEP + batch * batch_us
            builder.loader(start, 0.9 * batch_us)
            builder.op("aten::linear", start + 0.9 * batch_us, 0.1 * batch_us)
        at += length
    return builder


def test_an_evaluation_inside_a_step_is_told_and_in_no_other_figure() -> None:
    facts = Facts(evaluates().trace())
    trust = grade(facts)
    found = {item.rule.meta.code: item for item in judge(facts, run_rules(facts, RULES, trust), trust)}
    assert facts.steps.count == 6
    assert found["PY005"].explained_by == ()
    assert found["PY005"].finding.why == (
        "1 step of 7 (#4) holds another loop, such as an evaluation: 41 batches, 1 in most steps. 4.1 s are 41 times the median "
        "of 100 ms, and in no other figure of this report."
    )
    assert found["PY005"].ratio == pytest.approx(4.0 / 4.7)
    # A tenth of each ordinary step, not nine tenths of the mean over the evaluation.
    assert found["DL001"].ratio == pytest.approx(0.1, abs=0.01)


@pytest.mark.parametrize(
    "options",
    [{"batches": 0}, {"batches": 3}, {"batch_us": 1_000}, {"holding": (2, 4, 6)}],
    ids=["none", "a few more batches", "no longer for it", "every other step"],
)
def test_steps_that_are_like_the_others_stay(options: dict[str, Any]) -> None:
    builder = evaluates(**options)
    assert Facts(builder.trace()).steps.count == 7
    result = run(RULE, builder)
    assert not any("another loop" in finding.why for finding in result.findings)


def evaluates_tensors(*, holding: tuple[int, ...] = (4,), backward: bool = False, trains: bool = True) -> TraceBuilder:
    """Steps of 20 ops and 20 nodes of the backward pass without a loader; those in `holding` run 400 ops more."""
    builder, at = TraceBuilder(None), 0.0
    for number in range(12):
        more = 400 if number in holding else 0
        length = STEP + more * 1_000
        builder.step(number, at, length)
        for index in range(20):
            builder.op("aten::linear", at + index * 2_000, 1_900)
            if trains:
                start = at + 40_000 + index * 2_900
                builder.op("autograd::engine::evaluate_function: AddmmBackward0", start, 2_800)
                builder.op("aten::mm", start, 2_700)
        for index in range(more):
            start = at + STEP + index * 1_000
            if backward:
                builder.op("autograd::engine::evaluate_function: AddmmBackward0", start, 990)
            builder.op("aten::linear", start, 980)
        at += length
    return builder


def test_an_evaluation_that_draws_no_batch_is_in_no_other_figure() -> None:
    facts = Facts(evaluates_tensors().trace())
    assert (facts.steps.count, facts.steps.total_ns) == (11, 11 * 100_000_000)
    (found,) = run(RULE, evaluates_tensors()).findings
    assert found.why == (
        "1 step of 12 (#4) holds another loop, such as an evaluation or a rollout: 460 ops, 60 in most steps. 500 ms are 5 times "
        "the median of 100 ms, and in no other figure of this report."
    )


@pytest.mark.parametrize(
    ("seen", "said", "fix"),
    [
        ("collect_rollouts", "such as a rollout", "environments at once"),
        ("evaluate", "such as an evaluation", "Validate less often"),
        ("inner", "such as an evaluation or a rollout", "A rollout: step many environments at once"),
    ],
)
def test_a_loop_inside_a_step_is_what_was_seen_between_the_steps_of_the_run(seen: str, said: str, fix: str) -> None:
    """Of a hand-written PPO that is the rollout, which no rarer validation makes shorter. Where no name tells, both are said."""
    builder = evaluates_tensors()
    places = [
        {
            "functions": [[seen, "train.py"]],
            "line": 3,
            "in_function": "main",
            "in_file": "train.py",
            "own": True,
            "samples": 9,
        }
    ]
    between = {"samples": 9, "places": places}
    builder.top["advisor"] = {"run": {"times": [[60, 60 * 100_000_000], [6, 6 * 500_000_000]], "between": between}}
    (found,) = run(RULE, builder).findings
    assert said in found.why
    assert fix in found.fix[0].code
    assert ("Validate" in " ".join(one.code for one in found.fix)) is (seen == "evaluate")


@pytest.mark.parametrize(
    "options",
    [{"backward": True}, {"trains": False}, {"holding": (1, 3, 5, 7, 9)}],
    ids=["a longer sequence", "nothing trains", "every other step"],
)
def test_longer_steps_that_train_on_more_stay(options: dict[str, Any]) -> None:
    assert Facts(evaluates_tensors(**options).trace()).steps.count == 12


@pytest.mark.parametrize(
    ("times", "said", "ratio"),
    [
        (None, "report.", 0.4 / 1.6),
        # 30 more steps of 100 ms hold none: one in 42, not one in 12.
        ([[30, 30 * 100_000_000]], "that ran without the profiler none took three times their median.", 0.4 / 4.6),
        # Of 40 one is as long: two in 52.
        ([[39, 39 * 100_000_000], [1, 500_000_000]], "1 took three times their median.", 0.8 / 6.0),
    ],
    ids=["not timed", "none outside", "another outside"],
)
def test_an_evaluation_in_few_recorded_steps_is_spread_over_those_around_them(
    times: list[list[int]] | None, said: str, ratio: float
) -> None:
    builder = evaluates_tensors()
    if times is not None:
        builder.top["advisor"] = {"run": {"times": times}}
    (found,) = run(RULE, builder).findings
    assert found.why.endswith(said)
    assert found.saving.between_ratio == pytest.approx(ratio)
    assert ("few recorded steps" in " ".join(found.caveats)) is (times is None)
