"""Judges what the rules found: severity and confidence by trust, ids, what stands for what, ranks, and what is reachable."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from analyzer.analysis import CARD_RATIO, Calibrated
from analyzer.engine.identity import distinct, identity_of
from analyzer.engine.merging import combined, same_change
from analyzer.engine.running import RULE_SECONDS, RuleRun, run_rules
from analyzer.engine.severity import least, severity_of
from analyzer.engine.totals import saved_ns
from analyzer.engine.trust import TrustGrade
from analyzer.facts import Facts
from analyzer.finding import Confidence, Finding, Saving, Severity
from analyzer.rule import Rule
from analyzer.spans.intervals import EMPTY, IntervalSet

__all__ = [
    "RULE_SECONDS",
    "Judged",
    "RuleRun",
    "claimed",
    "judge",
    "reachable_ns",
    "run_rules",
    "with_card",
]

_Key = tuple[float, str, str]
# What is said of a rule that caps a severity and does not say why.
_CAPPED = "its rule has doubts, see when it may be wrong"
_CONFIDENCE_ORDER = (Confidence.LOW, Confidence.MEDIUM, Confidence.HIGH)
_CONFIDENCE_WEIGHT = {Confidence.HIGH: 1.0, Confidence.MEDIUM: 0.7, Confidence.LOW: 0.4}
# Two findings whose claims share more than this part of the smaller one are said to overlap.
_OVERLAP_RATIO = 0.1
# More specific findings replace a general one on a card from this share of its saving on.
_STANDS_FOR_RATIO = 0.5


class Judged(msgspec.Struct, frozen=True):
    """A finding with what the engine decided about it.

    Args:
        rule: The rule.
        finding: As the rule gave it.
        identity: Stable id for baselines: rule and a hash of file and function, or of rule and cause.
        severity: From what usually comes true of the saving, capped by the rule and by trust.
        confidence: The rule's, lowered by doubts about the trace.
        ns_per_step: The saving per step, a bound or an estimate.
        ratio: The same as a share of the step.
        usual_ns_per_step: What usually comes true of it.
        usual_ratio: The same as a share of the step.
        explained_by: Ids of more specific findings that stand for this one on a card.
        overlaps_with: Ids of findings that claim some of the same time.
        rank: 1 for the most worthwhile.
        merged: Whether the one finding that explains this one holds its saving as well: both are the same change.
        lowered_from: The severity of the saving alone, where another one is given; else None.
        lowered_because: Why, in a few words; empty where it is not.
        calibrated: What measured pairs say of the rule's figures; None where there are none.
    """

    rule: Rule
    finding: Finding
    identity: str
    severity: Severity
    confidence: Confidence
    ns_per_step: int
    ratio: float
    usual_ns_per_step: int
    usual_ratio: float
    explained_by: tuple[str, ...] = ()
    overlaps_with: tuple[str, ...] = ()
    rank: int = 0
    merged: bool = False
    lowered_from: Severity | None = None
    lowered_because: str = ""
    calibrated: Calibrated | None = None


def judge(
    facts: Facts, runs: Sequence[RuleRun], trust: TrustGrade, calibrated: Sequence[Calibrated] = ()
) -> tuple[Judged, ...]:
    """Severity, confidence, ids, overlaps and rank of every finding, best first.

    Args:
        facts: The measurements.
        runs: What became of each rule.
        trust: The grade of the trace.
        calibrated: What measured pairs say of the rules' figures; one that was exceeded is less sure.
    """
    judged = [_judge(facts, run.rule, finding, trust) for run in runs for finding in run.findings]
    judged = [_calibrated(facts, item, calibrated) for item in judged]
    judged = _numbered(judged)
    judged = [msgspec.structs.replace(item, explained_by=_explained_by(item, judged)) for item in judged]
    judged = _merged(facts, judged, trust)
    judged = [msgspec.structs.replace(item, overlaps_with=_overlapping(item, judged)) for item in judged]
    known = {item.identity: item for item in judged}
    judged.sort(key=lambda item: _place(item, known))
    return tuple(msgspec.structs.replace(item, rank=rank) for rank, item in enumerate(judged, start=1))


def _place(item: Judged, known: Mapping[str, Judged]) -> tuple[_Key, bool, _Key]:
    """The sort key: what others stand for has no card, and comes right behind the best of them."""
    leader = item
    for _ in known:
        standing = [known[one] for one in leader.explained_by if one in known]
        if not standing:
            break
        leader = min(standing, key=_worth)
    return _worth(leader), leader is not item, _worth(item)


def _worth(item: Judged) -> _Key:
    """The sort key that puts the most worthwhile finding first."""
    # Shares, not times: what lies between the steps is a share of a run whose steps may be far shorter than the recorded ones.
    return (-item.usual_ratio * _CONFIDENCE_WEIGHT[item.confidence], item.rule.meta.code, item.identity)


def _merged(facts: Facts, judged: Sequence[Judged], trust: TrustGrade) -> list[Judged]:
    """One card per change: the most worthwhile of the findings that one change fixes takes over what the others add."""
    result: list[Judged] = []
    for item in sorted(judged, key=_worth):
        leader = next((place for place, other in enumerate(result) if _leads(other, item)), None)
        if leader is None:
            result.append(item)
            continue
        first = result[leader]
        both = _judge(facts, first.rule, combined(first.finding, item.finding), trust)
        sure = min(both.confidence, first.confidence, item.confidence, key=_CONFIDENCE_ORDER.index)
        result[leader] = msgspec.structs.replace(
            both,
            identity=first.identity,
            calibrated=first.calibrated,
            confidence=sure if _doubted(first, item) else both.confidence,
        )
        result.append(msgspec.structs.replace(item, explained_by=(first.identity,), merged=True))
    return result


def _doubted(*items: Judged) -> bool:
    return any(item.calibrated is not None and item.calibrated.is_exceeded for item in items)


def _calibrated(facts: Facts, item: Judged, calibrated: Sequence[Calibrated]) -> Judged:
    """The finding with what pairs of this kind of machine say of its rule; where its figures were exceeded, one step less sure."""
    on_device = facts.device.main is not None
    known = [one for one in calibrated if one.rule == item.rule.meta.code and one.on_device == on_device]
    if not known:
        return item
    level = _CONFIDENCE_ORDER.index(item.confidence) - known[0].is_exceeded
    return msgspec.structs.replace(item, calibrated=known[0], confidence=_CONFIDENCE_ORDER[max(level, 0)])


def _leads(first: Judged, item: Judged) -> bool:
    if first.explained_by or item.explained_by or first.rule is item.rule or not first.usual_ns_per_step:
        return False
    return same_change(first.finding, item.finding)


def _judge(facts: Facts, rule: Rule, finding: Finding, trust: TrustGrade) -> Judged:
    saved = saved_ns(facts, (finding.saving,))
    usual = saved_ns(facts, (finding.saving,), usual=True)
    # What lies between the steps is a share of the run, whose mean step is longer by it than the recorded ones.
    between_ns, between = finding.saving.between_ns, finding.saving.between_ratio
    ratio = max(facts.steps.ratio(usual), between)
    of_saving = severity_of(ratio)
    severity = least(of_saving, finding.severity_cap, trust.severity_cap)
    because = trust.cap_reason if severity is trust.severity_cap else finding.capped_because or _CAPPED
    level = _CONFIDENCE_ORDER.index(finding.confidence) - trust.doubts_about(facts, finding.saving)
    guessed = not (trust.marked or trust.recurring)
    confidence = Confidence.LOW if guessed else _CONFIDENCE_ORDER[max(level, 0)]
    return Judged(
        rule=rule,
        finding=finding,
        identity=identity_of(rule, finding),
        severity=severity,
        confidence=confidence,
        ns_per_step=(saved // facts.steps.count if facts.steps.count else 0) + between_ns,
        ratio=max(facts.steps.ratio(saved), between),
        usual_ns_per_step=(usual // facts.steps.count if facts.steps.count else 0) + between_ns,
        usual_ratio=ratio,
        lowered_from=of_saving if severity is not of_saving else None,
        lowered_because=because if severity is not of_saving else "",
    )


def _numbered(judged: list[Judged]) -> list[Judged]:
    """Findings whose identities are distinct."""
    identities = distinct([item.identity for item in judged])
    return [msgspec.structs.replace(item, identity=own) for item, own in zip(judged, identities, strict=True)]


def _explained_by(item: Judged, judged: Sequence[Judged]) -> tuple[str, ...]:
    """The more specific findings that stand for this one: only where together they account for half of its saving.

    A child that saves a fraction of its parent must not hide it; a parent without a saving of its own is always replaced.
    """
    children = [other for other in judged if item.rule.meta.code in other.rule.meta.explains]
    if item.usual_ratio >= CARD_RATIO:
        # One that gets no card of its own cannot stand on one for another.
        children = [other for other in children if other.usual_ratio >= CARD_RATIO]
    mine = item.finding.saving
    if not _of_its_kernels([other.finding.saving for other in children], mine):
        return ()
    if mine.between_ns:
        # What lies in no used step is not what a finding on the used ones is about.
        children = [other for other in children if other.finding.saving.between_ns]
    shared = (claimed(children) & mine.likely_claims).total_ns
    kernels = min(sum(other.finding.saving.usual_shorter_ns for other in children), mine.usual_shorter_ns)
    if shared + kernels < _STANDS_FOR_RATIO * mine.usual_ns:
        return ()
    return tuple(other.identity for other in children)


def _of_its_kernels(savings: Sequence[Saving], mine: Saving) -> bool:
    """Whether others shorten most of the kernels that one does, as far as both say which: of the rest they explain nothing."""
    theirs = IntervalSet.union(part.spans for saving in savings for part in saving.shortened)
    own = IntervalSet.union(part.spans for part in mine.shortened)
    return not theirs or not own or (theirs & own).total_ns >= _STANDS_FOR_RATIO * own.total_ns


def _overlapping(item: Judged, judged: Sequence[Judged]) -> tuple[str, ...]:
    mine = item.finding.saving.claims
    result = []
    for other in judged:
        theirs = other.finding.saving.claims
        if other is item or other.identity == item.identity or not mine or not theirs:
            continue
        if (mine & theirs).total_ns > _OVERLAP_RATIO * min(mine.total_ns, theirs.total_ns):
            result.append(other.identity)
    return tuple(result)


def claimed(judged: Sequence[Judged]) -> IntervalSet:
    """All claimed time, counted once."""
    union = EMPTY
    for item in judged:
        union |= item.finding.saving.claims
    return union


def with_card(judged: Sequence[Judged]) -> list[Judged]:
    """The findings that get a card, as `Analysis.cards` has them."""
    return [item for item in judged if not item.explained_by and item.usual_ratio >= CARD_RATIO]


def reachable_ns(facts: Facts, judged: Sequence[Judged], *, usual: bool = False) -> int:
    """Mean step time left if every finding that gets a card came true: step - |union of claims| - what kernels get shorter by.

    Only of what has a card, so that one card saves what the headline says, and several no less than the largest of them.

    Args:
        facts: The measurements.
        judged: All findings.
        usual: Ask for what is left where what usually comes true does.
    """
    if not facts.steps.count:
        return 0
    savings = [item.finding.saving for item in with_card(judged)]
    return (facts.steps.total_ns - saved_ns(facts, savings, usual=usual)) // facts.steps.count
