"""Rules made for a test: each says what it is given, whatever the trace."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from analyzer.facts import Facts
from analyzer.finding import Advice, Finding, Outcome, Saving
from analyzer.rule import Limits, Rule, RuleMeta
from analyzer.spans.intervals import IntervalSet

NOTHING = Saving()


def claim(*pairs: tuple[int, int], kernel_us: int = 0) -> Saving:
    """Claims in microseconds."""
    return Saving(IntervalSet.of((a * 1_000, b * 1_000) for a, b in pairs), kernel_ns=kernel_us * 1_000)


def finding(saving: Saving = NOTHING, **changes: Any) -> Finding:
    values: dict[str, Any] = {
        "why": "because",
        "saving": saving,
        "fix": (Advice("text", "change it"),),
        "verify": "look again",
        "steps_seen": 4,
    }
    return Finding(**{**values, **changes})


def rule(code: str, *given: Finding | Outcome, **meta: Any) -> Rule:
    values: dict[str, Any] = {"name": code.lower(), "family": "sync", "title": code} | meta

    def check(facts: Facts, limits: Limits) -> Iterator[Finding | Outcome]:
        yield from given

    return Rule(RuleMeta(code=code, **values), check, "page")
