"""Findings, and what became of each rule."""

from __future__ import annotations

from typing import Literal

from analyzer.analysis.base import Document
from analyzer.analysis.evidence import EvidenceDocument

SeverityName = Literal["high", "medium", "low", "info"]
ConfidenceName = Literal["high", "medium", "low"]
StateName = Literal["fired", "clear", "not_applicable", "cannot_tell", "suppressed", "disabled", "crashed"]


class SavingDocument(Document, frozen=True, kw_only=True):
    """An upper bound, the rest of the step taken as recorded; savings do not add up.

    `overlaps_with` names the findings sharing its time.

    `ratio_max` is a share of the recorded step, which the profiler makes longer; `unprofiled_ratio_max` the same time as a share of
    a step without it, the most that a stopwatch can show while the rest stays as it is. None where that step was not timed.
    """

    ns_per_step_max: int
    ratio_max: float
    unprofiled_ratio_max: float | None = None
    basis: str
    overlaps_with: tuple[str, ...]


class SeenSteps(Document, frozen=True, kw_only=True):
    """In how many of the used steps the cause was seen."""

    seen: int
    of: int


class LocationDocument(Document, frozen=True, kw_only=True):
    """A place in the user's own code."""

    file: str
    line: int | None
    function: str | None


class FixDocument(Document, frozen=True, kw_only=True):
    """One thing to change."""

    language: Literal["diff", "python", "shell", "text"]
    code: str
    note: str


class FindingDocument(Document, frozen=True, kw_only=True):
    """One finding. `explained_by` names who stands for it on a card: more specific findings, or one with the same fix.

    `accepted` is the reason why the team lives with it (advisor.toml); such a finding fails no gate.
    """

    id: str
    rule: str
    name: str
    family: str
    title: str
    severity: SeverityName
    confidence: ConfidenceName
    saving: SavingDocument
    steps: SeenSteps
    rank: int
    explained_by: tuple[str, ...]
    location: LocationDocument | None
    why: str
    caveats: tuple[str, ...]
    evidence: tuple[EvidenceDocument, ...]
    fix: tuple[FixDocument, ...]
    verify: str
    references: tuple[str, ...]
    accepted: str | None = None


class CheckDocument(Document, frozen=True, kw_only=True):
    """What became of one rule."""

    rule: str
    name: str
    title: str
    family: str
    state: StateName
    reason: str
