"""Running one rule on one built trace: what the tests of rules share."""

from __future__ import annotations

from collections.abc import Mapping

from analyzer.engine import Judged, RuleRun, judge, run_rules
from analyzer.engine.trust import grade
from analyzer.facts import Facts
from analyzer.rule import Rule
from builders import TraceBuilder


def run(rule: Rule, builder: TraceBuilder, limits: Mapping[str, float] | None = None) -> RuleRun:
    """What the engine reports for a rule on a trace."""
    facts = Facts(builder.trace())
    (result,) = run_rules(facts, (rule,), grade(facts), limits={rule.meta.code: limits or {}})
    return result


def judged(rule: Rule, builder: TraceBuilder) -> Judged:
    """The rule's only finding with the engine's verdict on it; fails the test where there is none or several."""
    facts = Facts(builder.trace())
    trust = grade(facts)
    (result,) = judge(facts, run_rules(facts, (rule,), trust), trust)
    return result


def shifted(builder: TraceBuilder, by_us: float) -> TraceBuilder:
    """The same trace at another time."""
    for event in builder.events:
        event["ts"] += by_us
    return builder


def renamed(builder: TraceBuilder, by: int) -> TraceBuilder:
    """The same trace with other process and thread numbers on the host."""
    for event in builder.events:
        if event["pid"] == 4242:
            event["pid"] += by
            event["tid"] += by
    return builder
