"""Can this trace be believed? The symptoms of `facts.health` become one verdict, before any advice."""

from __future__ import annotations

from functools import cached_property

import msgspec

from analyzer.facts import Facts
from analyzer.facts.health import Gravity, Symptom
from analyzer.facts.health.steps import ENOUGH_STEPS
from analyzer.finding import Severity


class TrustGrade(msgspec.Struct, frozen=True, dict=True):
    """The verdict and what it does to findings.

    Args:
        symptoms: All reasons, gravest first.
        marked: Whether the program marked its steps.
        used_steps: Steps that figures are made from.
    """

    symptoms: tuple[Symptom, ...]
    marked: bool
    used_steps: int

    @property
    def verdict(self) -> str:
        """`ok`, `caution` or `unusable`."""
        worst = max((symptom.gravity for symptom in self.symptoms), default=Gravity.NOTE)
        return {Gravity.NOTE: "ok", Gravity.CAUTION: "caution", Gravity.UNUSABLE: "unusable"}[worst]

    @cached_property
    def codes(self) -> frozenset[str]:
        """Codes of the symptoms found."""
        return frozenset(symptom.code for symptom in self.symptoms if symptom.code)

    @property
    def severity_cap(self) -> Severity:
        """The highest severity any finding may have: low without step marks (PG001), medium with too few steps (PG003)."""
        if not self.marked:
            return Severity.LOW
        return Severity.HIGH if self.used_steps >= ENOUGH_STEPS else Severity.MEDIUM

    @property
    def doubts(self) -> int:
        """How many of the conditions of high confidence fail: enough steps, a trusted trace."""
        return int(self.used_steps < ENOUGH_STEPS) + int(self.verdict != "ok")


def grade(facts: Facts) -> TrustGrade:
    """Grades a trace."""
    return TrustGrade(facts.symptoms, facts.steps.marked, facts.used_steps)
