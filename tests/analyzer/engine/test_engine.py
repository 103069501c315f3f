"""The engine: states, isolation, the gate, severity and confidence, ids, overlaps, ranks, and what is reachable."""

from __future__ import annotations

import os
import re
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from analyzer.engine import Judged, RuleRun, claimed, judge, reachable_ns, run_rules
from analyzer.engine.trust import TrustGrade
from analyzer.facts import Facts
from analyzer.facts.health.steps.few import ENOUGH_STEPS
from analyzer.facts.health.symptom import Gravity, Symptom
from analyzer.finding import (
    Advice,
    Confidence,
    Figure,
    Finding,
    Location,
    Outcome,
    Saving,
    Series,
    Severity,
    Shortened,
    State,
    cannot_tell,
    clear,
    not_applicable,
)
from analyzer.rule import Limits, Rule, RuleMeta, Threshold
from analyzer.spans.intervals import IntervalSet
from building.builders import TraceBuilder
from running.made_rules import claim, finding, rule
from traces.trace import Capability

TRUSTED = TrustGrade((), True, 4)


def steps(device: str | None = "cuda") -> Facts:
    """Four steps of 1 ms, half of each busy."""
    builder = TraceBuilder(device)
    for number in range(4):
        at = number * 1_000
        builder.step(number, at, 1_000)
        if device is None:
            builder.op("aten::mm", at, 500)
        else:
            builder.launch(at, kernel_start=at + 500, kernel_dur=500, call_dur=10)
    return Facts(builder.trace())


def run(one: Rule, facts: Facts | None = None, trust: TrustGrade = TRUSTED, **options: Any) -> RuleRun:
    (result,) = run_rules(facts or steps(), (one,), trust, **options)
    return result


def judged(*rules: Rule, trust: TrustGrade = TRUSTED) -> tuple[Judged, ...]:
    facts = steps()
    return judge(facts, run_rules(facts, rules, trust), trust)


# States


@pytest.mark.parametrize(
    ("given", "state"),
    [
        (finding(), State.FIRED),
        (clear("fine: 2 %"), State.CLEAR),
        (not_applicable("no loader"), State.NOT_APPLICABLE),
        (cannot_tell("needs shapes"), State.CANNOT_TELL),
    ],
)
def test_what_a_rule_says_is_its_state(given: Finding | Outcome, state: State) -> None:
    result = run(rule("SY001", given))
    assert result.state is state
    assert result.reason in ("because", "fine: 2 %", "no loader", "needs shapes")


def test_silence_is_clear() -> None:
    assert run(rule("SY001")).state is State.CLEAR


def test_disabled() -> None:
    assert run(rule("SY001", finding()), disabled=frozenset({"SY001"})).state is State.DISABLED


def test_suppressed_by_a_symptom() -> None:
    trust = TrustGrade((Symptom("PG002", Gravity.CAUTION, "m", "f", 1),), True, 4)
    result = run(rule("ME001", finding(), suppressed_by=("PG002", "PG006")), trust=trust)
    assert (result.state, result.reason) == (State.SUPPRESSED, "by PG002")


@pytest.mark.parametrize(("family", "state"), [("sync", State.SUPPRESSED), ("profiling", State.FIRED)])
def test_an_unusable_trace_gets_hygiene_only(family: str, state: State) -> None:
    trust = TrustGrade((Symptom("PG005", Gravity.UNUSABLE, "m", "f", 1),), True, 4)
    assert run(rule("XX001", finding(), family=family), trust=trust).state is state


def without_launches() -> Facts:
    """Steps whose kernels have no launch."""
    builder = TraceBuilder()
    for number in range(4):
        builder.step(number, number * 1_000, 1_000)
        builder.op("aten::mm", number * 1_000, 400)
        builder.kernel("gemm", number * 1_000 + 500, 400)
    return Facts(builder.trace())


@pytest.mark.parametrize(
    ("given", "facts", "state"),
    [
        (clear("no loop"), without_launches(), State.CANNOT_TELL),
        (None, without_launches(), State.CANNOT_TELL),
        (not_applicable("no loader"), without_launches(), State.NOT_APPLICABLE),
        (finding(), without_launches(), State.FIRED),
        (clear("no loop"), steps(), State.CLEAR),
        # Without a device nothing is launched.
        (clear("no loop"), steps(None), State.CLEAR),
    ],
)
def test_what_could_not_have_been_found_is_not_clear(
    given: Finding | Outcome | None, facts: Facts, state: State
) -> None:
    said = () if given is None else (given,)
    result = run(rule("PY002", *said, clear_needs=frozenset({Capability.LAUNCHES})), facts)
    assert result.state is state
    if state is State.CANNOT_TELL:
        assert result.reason == f"needs {Capability.LAUNCHES.value}"


def test_what_the_trace_lacks_is_named() -> None:
    result = run(rule("PR001", finding(), needs=frozenset({Capability.SHAPES, Capability.STACKS, Capability.STEPS})))
    assert result.state is State.CANNOT_TELL
    assert result.reason == "needs record_shapes=True; with_stack=True"


def test_without_any_device_a_device_rule_does_not_apply() -> None:
    needs = frozenset({Capability.DEVICE, Capability.SHAPES})
    assert run(rule("PR001", finding(), needs=needs), steps(None)).state is State.NOT_APPLICABLE


def test_what_is_no_matter_of_a_device_is_asked_without_one() -> None:
    needs = frozenset({Capability.SHAPES})
    assert run(rule("PR001", finding(), needs=needs), steps(None)).state is State.CANNOT_TELL


def test_the_first_thing_a_rule_says_stands_for_it() -> None:
    assert run(rule("SY001", finding(why="this"), finding(why="that"))).reason == "this"
    assert run(rule("SY001", cannot_tell("this"), clear("that"))).reason == "this"


def test_a_device_that_was_not_recorded_leaves_the_question_open() -> None:
    builder = TraceBuilder("cuda").step(0, 0, 100)
    builder.op("aten::mm", 0, 50)
    needs = frozenset({Capability.DEVICE})
    assert run(rule("PR001", finding(), needs=needs), Facts(builder.trace())).state is State.CANNOT_TELL


def crashing(facts: Facts, limits: Limits) -> Iterator[Finding | Outcome]:
    raise ZeroDivisionError("by nothing")
    yield


def returning_text(facts: Facts, limits: Limits) -> Any:
    return ["a finding, honestly"]


def with_a_broken_saving(facts: Facts, limits: Limits) -> Any:
    return [finding(saving=17)]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("check", "says"),
    [(crashing, "ZeroDivisionError: by nothing"), (returning_text, "str"), (with_a_broken_saving, "TypeError")],
)
def test_a_crash_is_a_state_and_the_others_run(check: Any, says: str) -> None:
    facts = steps()
    broken = Rule(RuleMeta(code="AA001", name="a", family="sync", title="A"), check, "page")
    runs = run_rules(facts, (broken, rule("SY001", finding(claim((0, 400))))), TRUSTED)
    assert [one.state for one in runs] == [State.CRASHED, State.FIRED]
    assert says in runs[0].reason
    assert ".py:" in runs[0].reason
    assert len(judge(facts, runs, TRUSTED)) == 1


def test_a_crash_names_the_line_that_raised() -> None:
    result = run(Rule(RuleMeta(code="AA001", name="a", family="sync", title="A"), crashing, "page"))
    assert result.reason.endswith(f"({Path(__file__).name}:{crashing.__code__.co_firstlineno + 1})")


def test_an_interrupt_is_not_swallowed() -> None:
    def check(facts: Facts, limits: Limits) -> Iterator[Finding | Outcome]:
        raise KeyboardInterrupt
        yield

    with pytest.raises(KeyboardInterrupt):
        run(Rule(RuleMeta(code="AA001", name="a", family="sync", title="A"), check, "page"))


def a_rule(check: Any) -> Rule:
    return Rule(RuleMeta(code="AA001", name="a", family="sync", title="A"), check, "page")


@pytest.mark.parametrize("error", [SystemExit(0), GeneratorExit("over"), BaseException("base")])
def test_a_rule_does_not_end_the_program(error: BaseException) -> None:
    def check(facts: Facts, limits: Limits) -> Iterator[Finding | Outcome]:
        raise error
        yield

    facts = steps()
    runs = run_rules(facts, (a_rule(check), rule("SY001", finding())), TRUSTED)
    assert [one.state for one in runs] == [State.CRASHED, State.FIRED]
    assert f"raised {type(error).__name__}({error})" in runs[0].reason


@pytest.mark.parametrize("base", [ValueError, BaseException])
@pytest.mark.parametrize("again", [SystemExit(0), ValueError("x"), GeneratorExit("x")])
def test_an_error_that_ends_the_program_when_it_is_told_does_not(
    base: type[BaseException], again: BaseException
) -> None:
    class Untold(base):  # type: ignore[misc,valid-type]
        def __str__(self) -> str:
            raise again

    def check(facts: Facts, limits: Limits) -> Iterator[Finding | Outcome]:
        raise Untold
        yield

    facts = steps()
    runs = run_rules(facts, (a_rule(check), rule("SY001", finding())), TRUSTED)
    assert [one.state for one in runs] == [State.CRASHED, State.FIRED]
    assert "Untold" in runs[0].reason


def _scaled(facts: Facts) -> None:
    facts.trace.kernels["dur_ns"] *= 2


def _emptied(facts: Facts) -> None:
    facts.trace.kernels["dur_ns"] = 0


def _written(facts: Facts) -> None:
    facts.trace.steps.loc[:, "start_ns"] = 0


@pytest.mark.parametrize("change", [_scaled, _emptied, _written])
def test_what_a_plug_in_does_to_its_frames_is_done_to_no_other(change: Any) -> None:
    def check(facts: Facts, limits: Limits) -> Iterator[Finding | Outcome]:
        change(facts)
        yield clear(str(facts.device.main))

    def ask(facts: Facts, limits: Limits) -> Iterator[Finding | Outcome]:
        totals = facts.trace.kernels["dur_ns"].sum(), facts.trace.steps["start_ns"].sum(), facts.steps.window.total_ns
        yield clear(" ".join(map(str, totals)))

    def ours(facts: Facts, limits: Limits) -> Iterator[Finding | Outcome]:
        yield from ask(facts, limits)

    def theirs(facts: Facts, limits: Limits) -> Iterator[Finding | Outcome]:
        yield from ask(facts, limits)

    check.__module__, ours.__module__, theirs.__module__ = "team_rules", "rules.sync", "other_rules"
    codes = zip(("AA001", "AA002", "AA003"), (check, ours, theirs), strict=True)
    rules = [Rule(RuleMeta(code=code, name="a", family="sync", title="A"), one, "page") for code, one in codes]
    (undone,) = run_rules(steps(), (rules[1],), TRUSTED)
    changing, *others = run_rules(steps(), rules, TRUSTED)
    assert changing.state is State.CLEAR, changing.reason
    assert [one.reason for one in others] == [undone.reason] * 2


@pytest.mark.parametrize("hang", ["sleep", "loop", "never_ending"])
def test_a_rule_that_does_not_come_back_is_given_up(hang: str) -> None:
    threads = []

    def check(facts: Facts, limits: Limits) -> Iterator[Finding | Outcome]:
        threads.append(threading.current_thread())
        while hang == "loop":
            pass
        if hang == "sleep":
            threading.Event().wait(30)
        while True:
            yield clear("again")

    runs = run_rules(steps(), (a_rule(check), rule("SY001", finding())), TRUSTED, seconds=0.3)
    assert [one.state for one in runs] == [State.CRASHED, State.FIRED]
    expected = "more than 1000 findings" if hang == "never_ending" else "did not come back within 0.3 s"
    assert expected in runs[0].reason
    # What loops in Python stops, instead of taking a core for as long as the program runs. (Not by a `finally` of the rule: where
    # a jump back is interrupted, Python 3.13.0 skips those around it.)
    if hang == "loop":
        threads[0].join(30)
        assert not threads[0].is_alive()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_copy_of_the_process_that_a_rule_makes_does_not_stay() -> None:
    children = []

    def check(facts: Facts, limits: Limits) -> Iterator[Finding | Outcome]:
        if child := os.fork():
            children.append(child)
        yield clear("forked")

    assert run(a_rule(check)).state is State.CLEAR
    deadline = time.monotonic() + 30
    try:
        while os.waitpid(children[0], os.WNOHANG) == (0, 0):
            assert time.monotonic() < deadline, "it waits for a call that nobody makes"
            time.sleep(0.01)
    finally:
        with suppress(OSError):
            os.kill(children[0], signal.SIGKILL)


def test_rules_are_limited_in_threads_too() -> None:
    def check(facts: Facts, limits: Limits) -> Iterator[Finding | Outcome]:
        threading.Event().wait(30)
        yield clear("late")

    results: list[RuleRun] = []
    facts = steps()
    thread = threading.Thread(target=lambda: results.extend(run_rules(facts, (a_rule(check),), TRUSTED, seconds=0.2)))
    thread.start()
    thread.join(20)
    assert [one.state for one in results] == [State.CRASHED]


def test_no_thread_stays_behind_rules_that_come_back() -> None:
    before = threading.active_count()
    run_rules(steps(), (rule("SY001", finding()),), TRUSTED)
    assert threading.active_count() == before


def test_a_reason_is_short_and_names_a_foreign_package() -> None:
    def check(facts: Facts, limits: Limits) -> Iterator[Finding | Outcome]:
        raise ValueError("long\n" * 10_000)
        yield

    check.__module__ = "team_rules.slow"
    reason = run(a_rule(check)).reason
    assert reason.startswith("in the package team_rules: ValueError: long long")
    assert len(reason) < 450
    check.__module__ = "rules.slow"
    assert run(a_rule(check)).reason.startswith("ValueError")


def test_what_numpy_was_told_holds_for_rules() -> None:
    def check(facts: Facts, limits: Limits) -> Iterator[Finding | Outcome]:
        yield clear(np.geterr()["divide"])

    with np.errstate(divide="raise"):
        assert run(a_rule(check)).reason == "raise"


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"why": 17}, "`why`: Expected `str`, got `int`"),
        ({"steps_seen": "all"}, "`steps_seen`"),
        ({"fix": None}, "`fix`"),
        ({"fix": ("change it",)}, "`fix`"),
        ({"fix": (Advice("cobol", "x"),)}, "`fix`"),  # type: ignore[arg-type]
        ({"caveats": "one"}, "`caveats`"),
        ({"confidence": "sure"}, "`confidence`"),
        ({"severity_cap": None}, "`severity_cap`"),
        ({"title": object()}, "`title`"),
        ({"location": ("f.py", 3)}, "`location`"),
        ({"location": Location("f.py", "3", None)}, "`location`"),  # type: ignore[arg-type]
        ({"evidence": ("chart",)}, "`evidence[0]`"),
        ({"evidence": [Series("t", "ns", (1.0,))]}, "`evidence`"),
        ({"evidence": (Series(7, "ns", (1.0,)),)}, "`evidence[0]`"),  # type: ignore[arg-type]
        ({"saving": Saving([(0, 4)])}, "`saving.claims`"),  # type: ignore[arg-type]
        ({"saving": Saving(kernel_ns="7")}, "`saving.kernel_ns`"),  # type: ignore[arg-type]
        ({"saving": Saving(basis=None)}, "`saving.basis`"),  # type: ignore[arg-type]
    ],
)
def test_a_finding_of_wrong_types_is_a_crash_that_names_the_field(change: dict[str, Any], says: str) -> None:
    facts = steps()
    runs = run_rules(facts, (rule("AA001", finding(**change)), rule("SY001", finding())), TRUSTED)
    assert [one.state for one in runs] == [State.CRASHED, State.FIRED]
    assert says in runs[0].reason


def test_doubles_of_numpy_are_numbers() -> None:
    result = run(rule("AA001", finding(evidence=(Series("t", "ns", (np.float64(1.5),)),))))
    assert (result.state, result.reason) == (State.FIRED, "because")


@pytest.mark.parametrize("outcome", [Outcome("clear", "x"), Outcome(State.CLEAR, 4), Outcome(State.FIRED, "x")])  # type: ignore[arg-type]
def test_an_outcome_of_wrong_types_is_a_crash(outcome: Outcome) -> None:
    assert run(rule("AA001", outcome)).state is State.CRASHED


LONG = "x" * 100_001


@pytest.mark.parametrize(
    ("given", "field"),
    [
        (clear(LONG), "reason"),
        (finding(why=LONG), "why"),
        (finding(fix=(Advice("text", LONG),)), "fix"),
        (finding(evidence=(Series(LONG, "ns", (1.0,)),)), "evidence[0]"),
    ],
    ids=["reason", "why", "fix", "evidence"],
)
def test_more_than_anybody_reads_is_a_crash(given: Finding | Outcome, field: str) -> None:
    result = run(rule("AA001", given))
    assert result.state is State.CRASHED
    assert f"more than 100,000 characters in `{field}`" in result.reason


HALF = "a \ud800 b"


@pytest.mark.parametrize(
    ("given", "field"),
    [
        (clear(HALF), "reason"),
        (finding(why=HALF), "why"),
        (finding(location=Location(HALF, 1, None)), "location"),
        (finding(evidence=(Series(HALF, "ns", (1.0,)),)), "evidence[0]"),
    ],
    ids=["reason", "why", "location", "evidence"],
)
def test_what_no_file_can_hold_is_a_crash(given: Finding | Outcome, field: str) -> None:
    result = run(rule("AA001", given))
    assert result.state is State.CRASHED
    assert f"half a character (a lone surrogate) in `{field}`" in result.reason
    # Both halves in one text are a character.
    assert run(rule("AA001", clear("\U0001f525"))).state is State.CLEAR


def test_thresholds_are_the_defaults_unless_given() -> None:
    seen: list[dict[str, float]] = []

    def check(facts: Facts, limits: Limits) -> Iterator[Finding | Outcome]:
        seen.append(dict(limits))
        yield clear("fine")

    limits = (Threshold("a_ratio", 0.1, "ratio", "why"), Threshold("b_ns", 5, "ns", "why"))
    one = Rule(RuleMeta(code="AA001", name="a", family="sync", title="A", thresholds=limits), check, "page")
    run(one)
    run(one, limits={"AA001": {"b_ns": 7}, "SY001": {"a_ratio": 1}})
    assert seen == [{"a_ratio": 0.1, "b_ns": 5}, {"a_ratio": 0.1, "b_ns": 7}]


# Severity, confidence


@pytest.mark.parametrize(
    ("us_per_step", "severity"),
    [
        (200, Severity.HIGH),
        (199, Severity.MEDIUM),
        (100, Severity.MEDIUM),
        (99, Severity.LOW),
        (50, Severity.LOW),
        (49, Severity.INFO),
        (0, Severity.INFO),
    ],
)
def test_severity_follows_the_saving(us_per_step: int, severity: Severity) -> None:
    (found,) = judged(rule("SY001", finding(claim(*((at, at + us_per_step) for at in range(0, 4_000, 1_000))))))
    assert (found.severity, found.ns_per_step) == (severity, us_per_step * 1_000)
    assert found.ratio == pytest.approx(us_per_step / 1_000)


def test_kernel_time_counts_like_claims() -> None:
    (found,) = judged(rule("PR001", finding(claim((0, 400), kernel_us=400))))
    assert found.ns_per_step == 200_000


def test_only_claims_inside_the_used_steps_count() -> None:
    (found,) = judged(rule("SY001", finding(claim((-500, 400), (3_900, 9_000)))))
    assert found.ns_per_step == 125_000


def test_a_saving_never_exceeds_the_step() -> None:
    (found,) = judged(rule("SY001", finding(claim((0, 4_000), kernel_us=4_000))))
    assert (found.ratio, found.ns_per_step) == (1.0, 1_000_000)


def test_a_rule_may_cap_its_severity() -> None:
    (found,) = judged(rule("SY001", finding(claim((0, 4_000)), severity_cap=Severity.LOW)))
    assert found.severity is Severity.LOW


@pytest.mark.parametrize(
    ("trust", "severity", "confidence"),
    [
        (TRUSTED, Severity.HIGH, Confidence.HIGH),
        (TrustGrade((Symptom(None, Gravity.CAUTION, "m", "f", 1),), True, 4), Severity.HIGH, Confidence.MEDIUM),
        (TrustGrade((Symptom("PG003", Gravity.CAUTION, "m", "f", 1),), True, 2), Severity.MEDIUM, Confidence.LOW),
        (TrustGrade((Symptom("PG001", Gravity.CAUTION, "m", "f", 1),), False, 1), Severity.LOW, Confidence.LOW),
    ],
    ids=["sound", "repaired", "two steps", "no marks"],
)
def test_trust_lowers_severity_and_confidence(trust: TrustGrade, severity: Severity, confidence: Confidence) -> None:
    (found,) = judged(rule("SY001", finding(claim((0, 4_000)))), trust=trust)
    assert (found.severity, found.confidence) == (severity, confidence)


def test_without_marks_nothing_is_sure_however_good_the_trace_is() -> None:
    (found,) = judged(rule("SY001", finding(claim((0, 4_000)))), trust=TrustGrade((), False, ENOUGH_STEPS))
    assert found.confidence is Confidence.LOW


def test_just_enough_steps_raise_no_doubt() -> None:
    assert (TrustGrade((), True, ENOUGH_STEPS).doubts, TrustGrade((), True, ENOUGH_STEPS - 1).doubts) == (0, 1)


def test_confidence_is_never_raised() -> None:
    (found,) = judged(rule("SY001", finding(confidence=Confidence.LOW)))
    assert found.confidence is Confidence.LOW


# Ids


def identity(**changes: Any) -> str:
    return judged(rule("SY001", finding(**changes)))[0].identity


def test_ids_hold_no_number_of_this_run() -> None:
    assert identity() == identity(why="other", saving=claim((0, 700)), steps_seen=2)
    assert identity(title="3 waits in each step") == identity(title="17 waits in each step")
    here = Location("train.py", 88, "step")
    assert identity(location=here) == identity(location=Location("train.py", 91, "step"), title="else")
    assert len({identity(), identity(location=here), identity(location=Location("train.py", 88, "other"))}) == 3
    # Four digits: baselines and accepted findings hold them.
    assert re.fullmatch(r"SY001-[0-9a-f]{4}", identity())


def test_findings_of_one_rule_have_different_ids() -> None:
    found = judged(rule("SY001", finding(claim((0, 400))), finding(claim((0, 300))), finding(claim((0, 200)))))
    # Numbered in the rule's order, which is the same in every run: an accepted finding must not become another one.
    assert [item.identity for item in found] == [identity(), f"{identity()}-2", f"{identity()}-3"]


# Order, overlaps, parents and children


def test_rank_is_saving_times_confidence() -> None:
    found = judged(
        rule("AA001", finding(claim((0, 500)), confidence=Confidence.LOW)),
        rule("BB001", finding(claim((0, 250)), confidence=Confidence.HIGH)),
        rule("CC001", finding(claim((0, 400)), confidence=Confidence.MEDIUM)),
        rule("DD001", finding()),
    )
    assert [(item.rank, item.rule.meta.code) for item in found] == [
        (1, "CC001"),
        (2, "BB001"),
        (3, "AA001"),
        (4, "DD001"),
    ]


@pytest.mark.parametrize(
    ("confidence", "weight"), [(Confidence.HIGH, 1.0), (Confidence.MEDIUM, 0.7), (Confidence.LOW, 0.4)]
)
def test_what_doubt_costs_in_rank(confidence: Confidence, weight: float) -> None:
    doubted = rule("BB001", finding(claim((0, 1_000)), confidence=confidence))
    for saving, first in ((weight * 1_000 - 20, "BB001"), (weight * 1_000 + 20, "AA001")):
        found = judged(rule("AA001", finding(claim((0, int(saving))))), doubted)
        assert found[0].rule.meta.code == first


def test_time_is_shared_from_a_tenth_of_the_smaller_claim_on() -> None:
    for shared, told in ((10, False), (11, True)):
        found = judged(
            rule("AA001", finding(claim((0, 400)))), rule("BB001", finding(claim((400 - shared, 500 - shared))))
        )
        assert [bool(item.overlaps_with) for item in found] == [told, told]


def test_findings_that_share_time_name_each_other() -> None:
    found = {
        item.rule.meta.code: item
        for item in judged(
            rule("AA001", finding(claim((0, 400)))),
            rule("BB001", finding(claim((300, 500)))),
            rule("CC001", finding(claim((490, 900)))),
        )
    }
    assert found["AA001"].overlaps_with == (found["BB001"].identity,)
    # 10 of 200 us is less than a tenth of the smaller.
    assert found["BB001"].overlaps_with == (found["AA001"].identity,)
    assert found["CC001"].overlaps_with == ()


def explained(parent: Saving, *children: Saving) -> bool:
    rules = [rule(f"BB{n:03}", finding(saving), explains=("AA001",)) for n, saving in enumerate(children)]
    found = judged(rule("AA001", finding(parent)), *rules)
    return bool(next(item for item in found if item.rule.meta.code == "AA001").explained_by)


def test_a_child_stands_for_its_parent() -> None:
    assert explained(claim((0, 400)), claim((0, 400)))
    assert explained(claim((0, 400)), claim((0, 200)), claim((200, 400)))
    assert explained(Saving(), claim((0, 400)))
    assert explained(claim((0, 20)), Saving(), claim((0, 20)))


def test_a_parent_comes_right_behind_what_stands_for_it() -> None:
    found = judged(
        rule("AA001", finding(claim((0, 400)))),
        rule("BB001", finding(claim((0, 300))), explains=("AA001",)),
        rule("CC001", finding(claim((500, 600)))),
    )
    assert [item.rule.meta.code for item in found] == ["BB001", "AA001", "CC001"]
    assert [item.rank for item in found] == [1, 2, 3]


def test_a_child_stands_for_its_parent_from_half_of_its_saving_on() -> None:
    assert explained(claim((0, 400)), claim((0, 200)))
    assert not explained(claim((0, 400)), claim((0, 199)))


def test_kernel_time_of_children_counts_up_to_that_of_the_parent() -> None:
    assert explained(claim((0, 200), kernel_us=200), claim((0, 200), kernel_us=200))
    assert explained(claim((0, 100), kernel_us=300), claim((0, 0), kernel_us=300))
    # The parent's is no kernel time: what the child shortens is something else.
    assert not explained(claim((0, 400)), claim(kernel_us=400))


def test_only_children_with_a_card_stand_for_a_parent_with_one() -> None:
    # The window is 4,000 us, a card needs 80.
    assert explained(claim((0, 100)), claim((0, 80)))
    assert not explained(claim((0, 80)), claim((0, 40)), claim((40, 80)))
    assert explained(claim((0, 79)), claim((0, 40)), claim((40, 79)))


def test_a_small_child_does_not_hide_its_parent() -> None:
    assert not explained(claim((0, 400)))
    assert not explained(claim((0, 400)), claim((0, 100)))
    assert not explained(claim((0, 400)), claim((500, 900)))
    assert not explained(claim((0, 400)), Saving())
    # Together they cover it, but none is worth a card.
    assert not explained(claim((0, 120)), claim((0, 60)), claim((60, 120)))


# What is reachable


def reachable(*savings: Saving) -> int:
    """Microseconds a step."""
    facts = steps()
    rules = tuple(rule(f"AA{n:03}", finding(saving)) for n, saving in enumerate(savings))
    return reachable_ns(facts, judge(facts, run_rules(facts, rules, TRUSTED), TRUSTED)) // 1_000


IDLE = tuple((at, at + 500) for at in range(0, 4_000, 1_000))


def test_without_findings_the_step_stays() -> None:
    assert reachable() == 1_000


def test_time_claimed_twice_is_saved_once() -> None:
    assert reachable(claim(*IDLE), claim(*IDLE)) == 500
    assert reachable(claim((0, 400)), claim((200, 500))) == 875


def test_what_has_no_card_adds_nothing_to_what_the_cards_save_together() -> None:
    below, above = claim((600, 660)), claim((600, 700))
    assert reachable(claim((0, 400)), below) == reachable(claim((0, 400))) == 900
    assert reachable(claim((0, 400)), above) == 875


def test_claims_are_united() -> None:
    facts = steps()
    rules = (rule("AA001", finding(claim((0, 400)))), rule("BB001", finding(claim((200, 500)))))
    union = claimed(judge(facts, run_rules(facts, rules, TRUSTED), TRUSTED))
    assert union.pairs() == [(0, 500_000)]


def test_faster_kernels_add_up_to_all_of_compute() -> None:
    assert reachable(claim(kernel_us=400)) == 900
    assert reachable(claim(*IDLE, kernel_us=400)) == 400
    assert reachable(claim(kernel_us=900), claim(kernel_us=900)) == 550
    assert reachable(claim(kernel_us=1_500), claim(kernel_us=900)) == 500


def shorter(ratio: float, *pairs: tuple[int, int], way: str = "") -> Saving:
    """Kernels, in microseconds, of which a share goes."""
    spans = IntervalSet.of((a * 1_000, b * 1_000) for a, b in pairs)
    return Saving(kernel_ns=int(spans.total_ns * ratio), shortened=(Shortened(spans, ratio, way),))


BUSY = tuple((at + 500, at + 1_000) for at in range(0, 4_000, 1_000))


def test_two_fixes_of_the_same_kernels_share_their_time() -> None:
    # One halves 2 ms, the other takes a quarter of what is left of it.
    assert reachable(shorter(0.5, *BUSY), shorter(0.25, *BUSY)) == 687
    # Of alternatives only the larger counts; of other kernels both.
    assert reachable(shorter(0.5, *BUSY, way="format"), shorter(0.25, *BUSY, way="format")) == 750
    assert reachable(shorter(0.5, *BUSY[:2], way="format"), shorter(0.25, *BUSY[2:], way="format")) == 812


def test_what_a_rule_claims_inside_compute_is_saved() -> None:
    assert reachable(claim((0, 4_000))) == 0
    assert reachable(claim(*BUSY[:2])) == 750
    # A kernel that goes as a whole gets no shorter beside that.
    assert reachable(claim(*BUSY[:2]), claim(kernel_us=2_000)) == 500


@pytest.mark.parametrize(
    "savings",
    [
        (claim(*IDLE, kernel_us=2_000), claim((0, 3_900))),
        (claim(*BUSY), claim(*IDLE), claim(kernel_us=1_900)),
        (shorter(0.9, *BUSY), claim(kernel_us=1_900), claim((0, 900))),
    ],
)
def test_together_findings_save_no_less_than_the_largest_and_no_more_than_their_sum(
    savings: tuple[Saving, ...],
) -> None:
    facts = steps()
    found = judge(
        facts,
        run_rules(facts, tuple(rule(f"AA{n:03}", finding(one)) for n, one in enumerate(savings)), TRUSTED),
        TRUSTED,
    )
    single = [item.ns_per_step for item in found]
    assert max(single) <= 1_000_000 - reachable_ns(facts, found) <= sum(single)


def test_the_headline_counts_what_has_a_card() -> None:
    # A parent that a child stands for is on no card, and the 10 us of the third are worth none.
    facts = steps()
    parent = rule("AA001", finding(claim(*IDLE)))
    child = rule("AA002", finding(claim((0, 500), (1_000, 1_500), (2_000, 2_400))), explains=("AA001",))
    small = rule("AA003", finding(claim((500, 540))))
    found = judge(facts, run_rules(facts, (parent, child, small), TRUSTED), TRUSTED)
    assert 1_000_000 - reachable_ns(facts, found) == next(
        item.ns_per_step for item in found if item.rule.meta.code == "AA002"
    )


def test_without_a_device_every_saving_is_an_estimate() -> None:
    given = rule("AA001", finding(claim((0, 400))))
    assert run(given).findings[0].saving.kind is Figure.BOUND
    assert run(given, steps(None)).findings[0].saving.kind is Figure.ESTIMATE


def test_severity_and_rank_follow_what_usually_comes_true() -> None:
    facts = steps()
    hoped = finding(Saving(kernel_ns=2_000_000, usual_kernel_ns=100_000))
    sure = finding(claim((0, 400)))
    first, second = judge(facts, run_rules(facts, (rule("AA001", hoped), rule("AA002", sure)), TRUSTED), TRUSTED)
    assert [first.rule.meta.code, second.rule.meta.code] == ["AA002", "AA001"]
    assert (second.ns_per_step, second.usual_ns_per_step, second.severity) == (500_000, 25_000, Severity.INFO)


def test_an_empty_window_reaches_nothing() -> None:
    facts = Facts(TraceBuilder().step(0, 0, 0).trace())
    assert reachable_ns(facts, ()) == 0
