"""From findings to changes worth trying: whose rule fired, that can be made from outside, each with its ceiling."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from msgspec.structs import asdict

from analyzer.analysis import Analysis, FindingDocument
from analyzer.analysis.tuning import ByHand, Promise
from analyzer.page.findings.what_if import assumed
from analyzer.tune.catalogue import CATALOGUE, Change, Machine
from traces.collect.tune.trial import Value


@dataclass(frozen=True)
class Candidate:
    """A change, its values on this machine, the findings that advise it, and what they state.

    `promise` is that of the one among them that states most; `ceiling_ratio` the most that one may bring, which of an estimate is
    the upper end of what measured pairs brought.
    """

    change: Change
    values: tuple[Value, ...]
    rules: tuple[str, ...]
    findings: tuple[str, ...]
    promise: Promise
    ceiling_ratio: float


def candidates(analysis: Analysis, outside: Mapping[str, Sequence[str]], machine: Machine) -> tuple[Candidate, ...]:
    """The changes that findings of this document advise, the cheapest first, of equals the one that promises most.

    Args:
        analysis: The document; findings without a saving advise nothing.
        outside: The changes that can be made from outside, by rule.
        machine: What their values depend on.
    """
    found: list[Candidate] = []
    for change in CATALOGUE:
        findings = _advising(change, analysis, outside)
        values = change.values(machine)
        if findings and values:
            rules = tuple(dict.fromkeys(one.rule for one in findings))
            ids = tuple(one.id for one in findings)
            ceiling = max(max(_ratio(one), one.saving.ratio_max) for one in findings)
            found.append(Candidate(change, values, rules, ids, _promise(max(findings, key=_ratio)), ceiling))
    return tuple(sorted(found, key=lambda one: (one.change.effort, -one.promise.promised_ratio)))


def _advising(change: Change, analysis: Analysis, outside: Mapping[str, Sequence[str]]) -> list[FindingDocument]:
    """The findings that advise a change; not one that another of them explains: what is left of the cause is that one's figure.

    That training waits for data is 83 % of a step and of no remedy in particular; what workers can do about it on two cores, 22 %.
    """
    found = [one for one in analysis.findings if change.name in outside.get(one.rule, ()) and _ratio(one) > 0]
    ids = {one.id for one in found}
    return [one for one in found if not ids & set(one.explained_by)]


def by_hand(analysis: Analysis, outside: Mapping[str, Sequence[str]]) -> tuple[ByHand, ...]:
    """The findings to act on whose fix cannot be made from outside; those that an outside fix of another covers are left out."""
    return tuple(
        ByHand(rule=one.rule, title=one.title, **asdict(_promise(one)))
        for one in analysis.cards
        if not outside.get(one.rule) and _ratio(one) > 0
    )


def promised_together(analysis: Analysis, ids: Sequence[str]) -> Promise:
    """What findings state together, time that they share counted once: of the recorded step where one of them is."""
    found = assumed(analysis, ids)
    chosen = [one for one in analysis.findings if one.id in ids]
    profiled = max((one.saving.stated_ratio for one in chosen), default=0.0)
    stretch = max((_ratio(one) for one in chosen), default=0.0) / profiled if profiled else 1.0
    return Promise(
        promised_ratio=min(1.0, found.saved_ratio * stretch),
        promised_kind=found.kind,
        promised_of_recorded=any(map(_of_recorded, chosen)),
    )


def _promise(finding: FindingDocument) -> Promise:
    return Promise(
        promised_ratio=_ratio(finding), promised_kind=finding.saving.kind, promised_of_recorded=_of_recorded(finding)
    )


def _ratio(finding: FindingDocument) -> float:
    """The bound or the estimate, as the share of the step without the profiler that a stopwatch can show."""
    unprofiled = finding.saving.unprofiled_ratio
    return finding.saving.stated_ratio if unprofiled is None else unprofiled


def _of_recorded(finding: FindingDocument) -> bool:
    """Whether that share is of the recorded step: one without the profiler was timed, and cannot hold the saving."""
    return finding.saving.of_recorded and finding.saving.unprofiled_ratio is None
