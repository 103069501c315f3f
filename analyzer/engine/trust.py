"""Can this trace be believed? The symptoms of `facts.health` are weighed by what they make doubtful, before any advice.

A symptom that concerns a part of the figures doubts the findings that rest on that part, and the answer as a whole only where that
part may be what binds the run.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property

import msgspec

from analyzer.engine.severity import severity_of
from analyzer.facts import Facts
from analyzer.facts.health.steps.few import ENOUGH_STEPS
from analyzer.facts.health.symptom import Gravity, Symptom
from analyzer.finding import Saving, Severity
from analyzer.spans.intervals import IntervalSet
from analyzer.units import count, share

# A cause that owns less of the used steps than this binds no run (`analyzer.verdict`), whatever is wrong with it.
_BINDS_RATIO = 0.2
# A saving rests on causes that own this part of it: as much as two savings share that are said to overlap.
_RESTS_ON_RATIO = 0.1
# From here on the larger part of the steps is not the program's, and what a finding would bring elsewhere is a guess.
_MOSTLY_TAKEN_RATIO = 0.5


class TrustGrade(msgspec.Struct, frozen=True, dict=True):
    """The verdict and what it does to findings.

    Args:
        symptoms: All reasons, gravest first.
        marked: Whether the program marked its steps.
        used_steps: Steps that figures are made from.
        recurring: Whether unmarked steps are told by what recurs in each: the program's ranges, its optimizer, its loader.
    """

    symptoms: tuple[Symptom, ...]
    marked: bool
    used_steps: int
    recurring: bool = False

    @property
    def verdict(self) -> str:
        """`ok`, `caution` or `unusable`, of all symptoms together, whatever is found."""
        return verdict_of(self.symptoms)

    @cached_property
    def codes(self) -> frozenset[str]:
        """Codes of the symptoms found."""
        return frozenset(symptom.code for symptom in self.symptoms if symptom.code)

    @cached_property
    def doubted(self) -> frozenset[str]:
        """Codes of those that are more than a note."""
        return frozenset(one.code for one in self.symptoms if one.code and one.gravity >= Gravity.CAUTION)

    @property
    def severity_cap(self) -> Severity:
        """The highest severity any finding may have.

        Low where steps are guessed (PG001), medium with too few (PG003), and where something else took most of them.
        """
        if not (self.marked or self.recurring):
            return Severity.LOW
        return Severity.HIGH if self.used_steps >= ENOUGH_STEPS and not self.mostly_taken else Severity.MEDIUM

    @property
    def cap_reason(self) -> str:
        """Why severities are capped; empty where they are not."""
        if not (self.marked or self.recurring):
            return "trust is caution, as nothing sure tells steps apart (PG001)"
        if self.used_steps < ENOUGH_STEPS:
            return f"trust is caution, as only {count(self.used_steps, 'step is', 'steps are')} used (PG003)"
        return (
            f"trust is caution, as the thread lacked a core for {share(self.taken_ratio)} of the steps"
            if self.mostly_taken
            else ""
        )

    @property
    def taken_ratio(self) -> float:
        """Share of the steps in which something else kept the program from running, 0..1."""
        return max((one.taken_ratio or 0.0 for one in self.symptoms), default=0.0)

    @property
    def mostly_taken(self) -> bool:
        """Whether that is most of them."""
        return self.taken_ratio >= _MOSTLY_TAKEN_RATIO

    @property
    def doubts(self) -> int:
        """How many of the conditions of high confidence fail: enough steps, a trusted trace."""
        return int(self.used_steps < ENOUGH_STEPS) + int(self.verdict != "ok")

    def doubts_about(self, facts: Facts, saving: Saving) -> int:
        """As `doubts`, of the symptoms that matter for one finding; one more for steps told without marks, and for most taken."""
        matter = any(_matters(facts, symptom, saving) for symptom in self.symptoms)
        return (
            int(self.used_steps < ENOUGH_STEPS)
            + int(matter)
            + int(not self.marked and self.recurring)
            + int(self.mostly_taken)
        )

    def at_hand(self, facts: Facts, savings: Iterable[Saving]) -> tuple[Symptom, ...]:
        """The symptoms that make doubtful what binds the run, or a finding worth a card.

        Args:
            facts: The measurements.
            savings: Those of the findings that are worth a card.
        """
        cards = tuple(savings)
        return tuple(
            symptom
            for symptom in self.symptoms
            if symptom.gravity is Gravity.UNUSABLE
            or (
                symptom.gravity is Gravity.CAUTION
                and (_may_bind(facts, symptom) or any(_matters(facts, symptom, saving) for saving in cards))
            )
        )


def verdict_of(symptoms: Iterable[Symptom]) -> str:
    """`ok`, `caution` or `unusable`, by the gravest of some symptoms."""
    worst = max((symptom.gravity for symptom in symptoms), default=Gravity.NOTE)
    return {Gravity.NOTE: "ok", Gravity.CAUTION: "caution", Gravity.UNUSABLE: "unusable"}[worst]


def _matters(facts: Facts, symptom: Symptom, saving: Saving) -> bool:
    """Whether a symptom makes a saving doubtful: one that nothing tells what it rests on is doubted by each."""
    if symptom.gravity is not Gravity.CAUTION or (symptom.touches is None and symptom.time is None):
        return symptom.gravity > Gravity.NOTE
    total = saving.total_ns
    if not total:
        return True
    if symptom.time is not None:
        return _without(facts, saving, symptom.time) is not severity_of(facts.steps.ratio(saving.usual_ns))
    return (saving.claims & _touched(facts, symptom)).total_ns >= _RESTS_ON_RATIO * total


def _without(facts: Facts, saving: Saving, time: IntervalSet) -> Severity:
    """The severity of a saving in what is left of the used steps without some time."""
    left = (facts.steps.window - time).total_ns
    saved = (saving.likely_claims - time).total_ns + saving.usual_shorter_ns
    return severity_of(saved / left if left else 0.0)


def _may_bind(facts: Facts, symptom: Symptom) -> bool:
    """Whether what a symptom makes doubtful is enough of the steps to be what binds them."""
    if symptom.time is not None:
        return facts.steps.ratio((symptom.time & facts.steps.window).total_ns) >= _BINDS_RATIO
    return symptom.touches is None or facts.steps.ratio(_touched(facts, symptom).total_ns) >= _BINDS_RATIO


def _touched(facts: Facts, symptom: Symptom) -> IntervalSet:
    return facts.time.waterfall.owned(*(symptom.touches or ()))


def grade(facts: Facts) -> TrustGrade:
    """Grades a trace."""
    return TrustGrade(facts.health.symptoms, facts.steps.marked, facts.steps.count, facts.steps.recurring)
