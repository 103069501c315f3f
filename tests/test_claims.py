"""No nanosecond vanishes between rules: what a specific rule claims the general one leaves alone, and only that.

The general rules are those that another rule speaks before. Each is run on every world twice: alone, which gives all the time it
has to divide, and behind the rules that speak before it, with any of them switched off or with its limits moved.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pytest

from analyzer.engine import RuleRun, run_rules
from analyzer.engine.trust import TrustGrade, grade
from analyzer.facts import Facts
from analyzer.finding import State
from analyzer.rule import Rule, takes_claims
from analyzer.spans.intervals import EMPTY, IntervalSet
from building.builders import TraceBuilder
from known import scenarios
from known.scenarios import OF_RANKS, RULE_BY_CODE, SCENARIOS, facts_of
from rules import RULES
from running.recorded import ROOT

GENERAL = tuple(rule for rule in RULES if any(rule.meta.code in other.meta.before for other in RULES))
SPECIFIC = tuple(rule for rule in RULES if rule.meta.before)
# Where a rule fires on whatever it measures, and where it never does.
OPEN, SHUT = 0.0, 1e18
Settings = Mapping[str, Mapping[str, float]]


def limits_of(rule: Rule, value: float) -> dict[str, float]:
    return {name: value for name in rule.limits if name.startswith(("min_ratio", "min_step_ratio"))}


def settings(facts: Facts, trust: TrustGrade) -> Iterator[tuple[str, frozenset[str], Settings]]:
    """A name, what is switched off, and what is moved; of each rule only where that changes what it claims."""
    opened = {rule.meta.code: limits_of(rule, OPEN) for rule in SPECIFIC}
    fired = {run.rule.meta.code for run in run_rules(facts, SPECIFIC, trust) if claims_of(run)}
    may_fire = {run.rule.meta.code for run in run_rules(facts, SPECIFIC, trust, limits=opened) if claims_of(run)}
    yield "as it is", frozenset(), {}
    yield "all open", frozenset(), opened
    yield "all off", frozenset(opened), {}
    for rule in SPECIFIC:
        code = rule.meta.code
        if code in fired:
            yield f"{code} off", frozenset({code}), {}
            yield f"{code} shut", frozenset(), {code: limits_of(rule, SHUT)}
        if code in may_fire:
            yield f"{code} open", frozenset(), {code: limits_of(rule, OPEN)}


def claims_of(run: RuleRun) -> IntervalSet:
    claims = EMPTY
    for finding in run.findings:
        claims |= finding.saving.claims
    return claims


def vanished(facts: Facts, trust: TrustGrade) -> list[str]:
    """Where claims of the general and of the specific rules are not together what the general one has to divide."""
    opened = {rule.meta.code: limits_of(rule, OPEN) for rule in GENERAL}
    whole = {run.rule.meta.code: run for run in run_rules(facts, GENERAL, trust, limits=opened)}
    assert not [run.reason for run in whole.values() if run.state is State.CRASHED]
    found = []
    for name, off, moved in settings(facts, trust) if any(claims_of(run) for run in whole.values()) else ():
        runs = run_rules(facts, (*SPECIFIC, *GENERAL), trust, disabled=off, limits={**opened, **moved})
        for run in runs:
            code = run.rule.meta.code
            if code not in whole or whole[code].state is not State.FIRED:
                continue
            earlier = EMPTY
            for other in runs:
                if code in other.rule.meta.before:
                    earlier |= claims_of(other)
            if run.state is not State.FIRED or claims_of(run).pairs() != (claims_of(whole[code]) - earlier).pairs():
                found.append(f"{code}, {name}: {run.state.value}, {run.reason}")
    return found


def test_there_are_general_rules_and_they_ask_for_claims() -> None:
    assert {rule.meta.code for rule in GENERAL} >= {"ID001", "PY001"}
    assert all(takes_claims(rule.check) for rule in GENERAL)
    assert {rule.meta.code for rule in RULES if takes_claims(rule.check)} == {rule.meta.code for rule in GENERAL}


@pytest.mark.parametrize("fires", [True, False], ids=["fires", "beside"])
@pytest.mark.parametrize("code", sorted(set(SCENARIOS) - OF_RANKS))
def test_no_time_vanishes_between_rules(code: str, fires: bool) -> None:
    facts = facts_of(code, fires=fires)
    assert vanished(facts, grade(facts)) == []


def launch_bound() -> TraceBuilder:
    """Steps in which each kernel waits for its launch, and every specific rule finds its fault.

    A loop over elements, one over a list, a recurrent cell, an optimizer parameter by parameter, gradients filled with zeros, and
    in one step a collection of garbage and a long pause.
    """
    builder = TraceBuilder()
    at = 0.0

    def ops(names: Sequence[str], times: int, start: float, gap: float = 1) -> float:
        for index in range(times * len(names)):
            when = start + index * (9 + gap)
            builder.launch(when, kernel_start=when + 11, kernel_dur=1, op=names[index % len(names)], call_dur=9)
        return start + times * len(names) * (9 + gap)

    for number in range(6):
        begun = at
        at = ops(("aten::linear", "aten::relu"), 4, at)
        at = ops(("aten::select", "aten::sub", "aten::add"), 60, at, gap=6)
        at = ops(("aten::lerp_", "aten::clamp_"), 60, at + 20, gap=6)
        at = ops(("aten::select", "aten::lstm_cell"), 40, at + 20, gap=6)
        filled = ops(("aten::zero_",), 40, at + 20)
        builder.zero_grad(at + 15, filled - at - 10)
        updated = ops(("aten::mul_", "aten::addcmul_", "aten::addcdiv_"), 40, filled + 20)
        builder.optimizer(filled + 15, updated - filled - 10)
        at = updated + 300
        if number == 3:
            builder.python("Python GC", at, 4_000)
            at = ops(("aten::relu",), 1, at + 4_100) + 60_000
        at = ops(("aten::relu",), 1, at)
        builder.step(number, begun, at - begun)
    return builder


def test_no_time_vanishes_where_all_of_them_have_something_to_claim() -> None:
    facts = Facts(launch_bound().trace())
    trust = grade(facts)
    assert vanished(facts, trust) == []
    alone = {run.rule.meta.code: claims_of(run) for run in run_rules(facts, GENERAL, trust)}
    shared = {
        (rule.meta.code, general)
        for rule, run in zip(SPECIFIC, run_rules(facts, SPECIFIC, trust), strict=True)
        for general in rule.meta.before
        if claims_of(run) & alone[general]
    }
    of_both = {(code, general) for code in ("PY002", "PY003", "PY006") for general in ("ID001", "PY001")}
    assert shared == {
        *of_both,
        ("PY004", "PY001"),
        ("ID003", "PY001"),
        ("ID003", "ID001"),
        ("OP001", "ID001"),
        ("OP003", "ID001"),
    }


@pytest.mark.parametrize("device", [None, "cuda"])
@pytest.mark.parametrize("off", [True, False], ids=["switched off", "limit moved"])
def test_a_loop_that_gets_no_finding_is_left_to_the_general_rules(device: str | None, off: bool) -> None:
    """Time of the loop was nobody's once the user's limit differed from the default."""
    builder: TraceBuilder = scenarios.tests_of("PY002").world(device=device)
    facts = Facts(builder.trace())
    chosen = tuple(RULE_BY_CODE[code] for code in ("ID001", "PY001", "PY002"))
    opened: dict[str, Mapping[str, float]] = {
        code: {"min_ratio": 0.0, "min_stretch_ns": 0.0, "slow_core_times": 1.0} for code in ("ID001", "PY001")
    }

    def claimed(disabled: frozenset[str], limit: float) -> dict[str, IntervalSet]:
        limits = {**opened, "PY002": {"min_ratio": limit}}
        runs = run_rules(facts, chosen, grade(facts), disabled=disabled, limits=limits)
        return {run.rule.meta.code: claims_of(run) for run in runs}

    found = claimed(frozenset(), 0.02)
    lost = claimed(frozenset({"PY002"}), 0.02) if off else claimed(frozenset(), 0.99)
    assert found["PY002"].total_ns > 0
    assert not lost["PY002"]
    # The device has too few launches for ID001 to tell, so what it could claim is nobody's either way.
    general = facts.time.waterfall.owned("python")
    assert (found["PY002"] & general).total_ns > 0.01 * facts.steps.total_ns
    assert not (found["PY002"] & general) - lost["PY001"]
    assert not (found["PY001"] | found["ID001"]) & found["PY002"]


# What the analyzer knows of rules: nothing.

# Of any rule of a family that there is; MI250 is a device.
CODE = re.compile(rf"\b(?:{'|'.join(sorted({code[:2] for code in RULE_BY_CODE} - {'PG'}))})\d{{3}}\b")
# Messages and help that show what a code looks like.
SHOWS_A_CODE = {"analyzer/config/__init__.py", "analyzer/cli/codes.py", "analyzer/cli/commands/explain.py"}


def codes_in(path: Path) -> list[str]:
    """Codes of rules in the strings of a file that are no docstrings. PG codes are symptoms, which the analyzer itself finds."""
    tree = ast.parse(path.read_text("utf-8"))
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    docstrings = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, documented) and node.body and isinstance(node.body[0], ast.Expr)
    }
    strings = [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings
    ]
    return [code for text in strings for code in CODE.findall(text)]


@pytest.mark.slow
def test_the_analyzer_names_no_rule() -> None:
    files = {path.relative_to(ROOT).as_posix(): codes_in(path) for path in (ROOT / "analyzer").rglob("*.py")}
    assert {name: codes for name, codes in files.items() if codes and name not in SHOWS_A_CODE} == {}
    assert all(files[name] for name in SHOWS_A_CODE), "an exception that is none any more"
