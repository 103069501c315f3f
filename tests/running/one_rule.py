"""Running one rule on one built trace: what the tests of rules share."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from analyzer.engine import Judged, RuleRun, judge, run_rules
from analyzer.engine.trust import TrustGrade, grade
from analyzer.facts import Facts
from analyzer.rule import Rule
from building.builders import TraceBuilder, as_read
from rules import RULES


def run(rule: Rule, builder: TraceBuilder, limits: Mapping[str, float] | None = None) -> RuleRun:
    """What the engine reports for a rule on a trace, behind those that speak before it."""
    facts, trust = _measured(builder.content())
    return run_rules(facts, _with_earlier(rule), trust, limits={rule.meta.code: limits or {}})[0]


def judged(rule: Rule, builder: TraceBuilder, limits: Mapping[str, float] | None = None) -> Judged:
    """The rule's only finding with the engine's verdict on it; fails the test where there is none or several."""
    facts, trust = _measured(builder.content())
    runs = run_rules(facts, _with_earlier(rule), trust, limits={rule.meta.code: limits or {}})
    (result,) = judge(facts, runs[:1], trust)
    return result


@lru_cache(maxsize=16)
def _measured(content: str) -> tuple[Facts, TrustGrade]:
    """Measurements of a world and trust in it, made once for equal worlds that come close together: nothing changes them."""
    facts = Facts(as_read(content))
    return facts, grade(facts)


def _with_earlier(rule: Rule) -> tuple[Rule, ...]:
    return (rule, *(other for other in RULES if rule.meta.code in other.meta.before))


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
