"""Runs rules, catches a crashing one, gates by trust, removes double counting and ranks."""

from __future__ import annotations

import hashlib
import re
import traceback
from collections.abc import Mapping, Sequence

import msgspec

from analyzer.analysis import CARD_RATIO
from analyzer.facts import Facts
from analyzer.finding import Confidence, Finding, Outcome, Saving, Severity, State
from analyzer.intervals import EMPTY, IntervalSet
from analyzer.merging import combined, same_change
from analyzer.rule import Rule
from analyzer.trust import TrustGrade
from traces.trace import Capability

# Shares of the step at which a saving becomes high, medium, low (rules.md, "State and severity").
_SEVERITY_RATIOS = ((0.20, Severity.HIGH), (0.10, Severity.MEDIUM), (0.05, Severity.LOW))
_SEVERITY_ORDER = (Severity.INFO, Severity.LOW, Severity.MEDIUM, Severity.HIGH)
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
        severity: From the saving, capped by the rule and by trust.
        confidence: The rule's, lowered by doubts about the trace.
        ns_per_step: Upper bound per step.
        ratio: The same as a share of the step.
        explained_by: Ids of more specific findings that stand for this one on a card.
        overlaps_with: Ids of findings that claim some of the same time.
        rank: 1 for the most worthwhile.
        merged: Whether the one finding that explains this one holds its saving as well: both are the same change.
    """

    rule: Rule
    finding: Finding
    identity: str
    severity: Severity
    confidence: Confidence
    ns_per_step: int
    ratio: float
    explained_by: tuple[str, ...] = ()
    overlaps_with: tuple[str, ...] = ()
    rank: int = 0
    merged: bool = False


class RuleRun(msgspec.Struct, frozen=True):
    """What became of one rule."""

    rule: Rule
    state: State
    reason: str
    findings: tuple[Finding, ...] = ()


def run_rules(
    facts: Facts,
    rules: Sequence[Rule],
    trust: TrustGrade,
    *,
    disabled: frozenset[str] = frozenset(),
    limits: Mapping[str, Mapping[str, float]] | None = None,
) -> tuple[RuleRun, ...]:
    """Runs every rule; one that crashes is reported and never takes the others down.

    Args:
        facts: The measurements.
        rules: The catalogue.
        trust: The grade; on an unusable trace only the hygiene rules (family `profiling`) are run.
        disabled: Codes not to run.
        limits: Thresholds by rule code that replace the defaults.
    """
    given = limits or {}
    return tuple(_run(facts, rule, trust, disabled, {**rule.limits, **given.get(rule.meta.code, {})}) for rule in rules)


def _run(facts: Facts, rule: Rule, trust: TrustGrade, disabled: frozenset[str], limits: Mapping[str, float]) -> RuleRun:
    meta = rule.meta
    if meta.code in disabled:
        return RuleRun(rule, State.DISABLED, "switched off by --select or --ignore")
    if trust.verdict == "unusable" and meta.family != "profiling":
        return RuleRun(rule, State.SUPPRESSED, "by trust: the trace is unusable")
    suppressing = [code for code in meta.suppressed_by if code in trust.codes]
    if suppressing:
        return RuleRun(rule, State.SUPPRESSED, f"by {', '.join(suppressing)}")
    lacking = _lacking(facts, rule)
    if lacking:
        return lacking
    try:
        given = tuple(_checked(item, facts) for item in rule.check(facts, limits))
    except (
        Exception
    ) as error:  # A rule may be anybody's plug-in: whatever it raises becomes its state, and the others run.
        frame = traceback.extract_tb(error.__traceback__)[-1]
        place = f"{frame.filename.rsplit('/', 1)[-1]}:{frame.lineno}"
        return RuleRun(rule, State.CRASHED, f"{type(error).__name__}: {error} ({place})")
    findings = tuple(item for item in given if isinstance(item, Finding))
    outcomes = [item for item in given if isinstance(item, Outcome)]
    if findings:
        return RuleRun(rule, State.FIRED, findings[0].why, findings)
    if outcomes:
        return RuleRun(rule, outcomes[0].state, outcomes[0].reason)
    return RuleRun(rule, State.CLEAR, "looked at, nothing found")


def _checked(item: object, facts: Facts) -> Finding | Outcome:
    """What a rule gave, its claims cut to the used steps: outside them nothing is saved in them.

    Raises:
        TypeError: It is neither a finding nor an outcome, or its saving is no saving.
    """
    if isinstance(item, Outcome):
        return item
    if not isinstance(item, Finding) or not isinstance(item.saving, Saving):
        raise TypeError(f"the rule gave a {type(item).__name__} that is no finding")
    return msgspec.structs.replace(
        item, saving=msgspec.structs.replace(item.saving, claims=item.saving.claims & facts.window())
    )


def _lacking(facts: Facts, rule: Rule) -> RuleRun | None:
    """The run of a rule whose data the trace lacks: not applicable without any device, else cannot tell."""
    missing = [capability for capability in Capability if capability in rule.meta.needs - facts.trace.capabilities]
    if not missing:
        return None
    of_device = {Capability.DEVICE, Capability.LAUNCHES}
    if of_device & set(missing) and facts.trace.meta.device_kind == "cpu":
        return RuleRun(rule, State.NOT_APPLICABLE, "no device in this trace")
    return RuleRun(rule, State.CANNOT_TELL, "needs " + "; ".join(capability.value for capability in missing))


def judge(facts: Facts, runs: Sequence[RuleRun], trust: TrustGrade) -> tuple[Judged, ...]:
    """Severity, confidence, ids, overlaps and rank of every finding, best first."""
    judged = [_judge(facts, run.rule, finding, trust) for run in runs for finding in run.findings]
    judged = _distinct(judged)
    judged = [msgspec.structs.replace(item, explained_by=_explained_by(item, judged)) for item in judged]
    judged = _merged(facts, judged, trust)
    judged = [msgspec.structs.replace(item, overlaps_with=_overlapping(item, judged)) for item in judged]
    judged.sort(key=_worth)
    return tuple(msgspec.structs.replace(item, rank=rank) for rank, item in enumerate(judged, start=1))


def _worth(item: Judged) -> tuple[float, str, str]:
    """The sort key that puts the most worthwhile finding first."""
    return (-item.ns_per_step * _CONFIDENCE_WEIGHT[item.confidence], item.rule.meta.code, item.identity)


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
        result[leader] = msgspec.structs.replace(both, identity=first.identity)
        result.append(msgspec.structs.replace(item, explained_by=(first.identity,), merged=True))
    return result


def _leads(first: Judged, item: Judged) -> bool:
    if first.explained_by or item.explained_by or first.rule is item.rule or not first.finding.saving.total_ns:
        return False
    return same_change(first.finding, item.finding)


def _judge(facts: Facts, rule: Rule, finding: Finding, trust: TrustGrade) -> Judged:
    saved = min(finding.saving.total_ns, facts.window_ns)
    ratio = facts.ratio(saved)
    severity = next((name for limit, name in _SEVERITY_RATIOS if ratio >= limit), Severity.INFO)
    severity = min(severity, finding.severity_cap, trust.severity_cap, key=_SEVERITY_ORDER.index)
    level = _CONFIDENCE_ORDER.index(finding.confidence) - trust.doubts
    confidence = Confidence.LOW if not trust.marked else _CONFIDENCE_ORDER[max(level, 0)]
    return Judged(
        rule=rule,
        finding=finding,
        identity=_identity(rule, finding),
        severity=severity,
        confidence=confidence,
        ns_per_step=saved // facts.used_steps if facts.used_steps else 0,
        ratio=ratio,
    )


def _identity(rule: Rule, finding: Finding) -> str:
    """Stable across runs: no numbers and no line in it, or baselines break."""
    place = finding.location
    title = re.sub(r"\d+", "", finding.title or "")
    cause = f"{place.file}|{place.function}" if place else f"{rule.meta.name}|{title}"
    return f"{rule.meta.code}-{hashlib.sha256(cause.encode('utf-8', 'replace')).hexdigest()[:4]}"


def _distinct(judged: list[Judged]) -> list[Judged]:
    """Numbers ids that several findings of one rule share."""
    seen: dict[str, int] = {}
    result = []
    for item in judged:
        times = seen.get(item.identity, 0)
        seen[item.identity] = times + 1
        result.append(msgspec.structs.replace(item, identity=f"{item.identity}-{times + 1}") if times else item)
    return result


def _explained_by(item: Judged, judged: Sequence[Judged]) -> tuple[str, ...]:
    """The more specific findings that stand for this one: only where together they account for half of its saving.

    A child that saves a fraction of its parent must not hide it; a parent without a saving of its own is always replaced.
    """
    children = [other for other in judged if item.rule.meta.code in other.rule.meta.explains]
    if item.ratio >= CARD_RATIO:
        # One that gets no card of its own cannot stand on one for another.
        children = [other for other in children if other.ratio >= CARD_RATIO]
    mine = item.finding.saving
    shared = (claimed(children) & mine.claims).total_ns
    kernels = min(sum(other.finding.saving.kernel_ns for other in children), mine.kernel_ns)
    if shared + kernels < _STANDS_FOR_RATIO * mine.total_ns:
        return ()
    return tuple(other.identity for other in children)


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


def reachable_ns(facts: Facts, judged: Sequence[Judged]) -> int:
    """Mean step time left if every finding's saving came true: never below the compute that remains.

    step - |union of claims| - sum of kernel-time savings (architecture.md, "A cost is not a loss").
    """
    if not facts.used_steps:
        return 0
    compute = facts.waterfall.owned("compute").total_ns
    # Kernel-time savings of several rules may be of the same kernels: at most half of all compute is believed in, but no less than
    # the largest of them says by itself.
    savings = [item.finding.saving.kernel_ns for item in judged if not item.merged]
    shorter = min(sum(savings), max(compute // 2, max(savings, default=0)), compute)
    left = facts.window_ns - claimed(judged).total_ns - shorter
    return max(left, compute - shorter) // facts.used_steps
