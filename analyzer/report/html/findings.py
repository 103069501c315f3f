"""Findings, ready for the template."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from analyzer.analysis import Advice, Analysis, FindingDocument
from analyzer.report import safe, savings, wording
from analyzer.report.html.evidence import Piece, percent, pieces
from analyzer.report.html.prose import link, prose
from analyzer.report.text.findings import MARKS
from analyzer.units import duration, share

_MOST_FINDINGS = 500


@dataclass(frozen=True)
class Line:
    """A line of code; `kind` is `add`, `del` or `same`."""

    kind: str
    text: str


@dataclass(frozen=True)
class Fix:
    """A change: a note, and code unless the change is one in words."""

    note: Markup
    lines: tuple[Line, ...]


@dataclass(frozen=True)
class Finding:
    """One finding."""

    anchor: str
    severity: str
    mark: str
    word: str
    rule: str
    title: str
    percent: str
    saving: str
    share: str
    facts: str
    lowered: str
    briefly: str
    place: str
    accepted: Markup
    why: Markup
    basis: Markup
    evidence: tuple[Piece, ...]
    fix: tuple[Fix, ...]
    verify: Markup
    caveats: tuple[Markup, ...]
    references: tuple[str, ...]


def findings(analysis: Analysis) -> tuple[Finding, ...]:
    """The cards, best first."""
    return tuple(_finding(one, analysis) for one in analysis.cards[:_MOST_FINDINGS])


def small(analysis: Analysis) -> tuple[Markup, ...]:
    """The findings below the limit of a card, a line each; without what the notes on trust say."""
    return tuple(
        Markup("<code>{}</code> {}, {}. {}{}").format(
            safe.name(one.rule, 12),
            safe.name(one.title, 80),
            savings.worth(one) + savings.beside(one.saving),
            prose(one.why, 400),
            Markup(" Accepted: {}.").format(prose(one.accepted.rstrip("."), 400)) if one.accepted is not None else "",
        )
        for one in analysis.minor[:_MOST_FINDINGS]
    )


def _finding(one: FindingDocument, analysis: Analysis) -> Finding:
    ns = one.saving.stated_ns
    return Finding(
        anchor=re.sub(r"[^A-Za-z0-9_-]", "", one.id)[:40] or f"finding-{one.rank}",
        severity=one.severity,
        mark=MARKS[one.severity],
        word=wording.SEVERITY_WORDS[one.severity],
        rule=safe.name(one.rule, 12),
        title=safe.name(one.title, 80),
        percent=percent(one.saving.stated_ratio),
        saving=f"{savings.word(one.saving.kind)} {duration(ns)}" if ns > 0 else "",
        share=share(one.saving.stated_ratio) if ns > 0 else "",
        facts=f"{one.confidence} confidence, {savings.seen(one)}",
        lowered=safe.name(wording.lowered(one), 160),
        briefly=safe.name(wording.lowered(one, briefly=True), 80),
        place=_place(one),
        accepted=prose(one.accepted or ""),
        why=prose(one.why),
        basis=_basis(one, analysis),
        evidence=tuple(pieces(one.evidence)),
        fix=tuple(_fix(fix) for fix in one.fix),
        verify=_verify(one.verify),
        caveats=tuple(prose(caveat) for caveat in one.caveats),
        references=tuple(filter(None, (link(reference) for reference in one.references))),
    )


def _place(one: FindingDocument) -> str:
    if one.location is None:
        return ""
    file = safe.name(one.location.file, 100)
    function = f" in {safe.name(one.location.function, 60)}{one.location.begins_text}" if one.location.function else ""
    return f"{file}{one.location.line_text}{function}"


def _basis(one: FindingDocument, analysis: Analysis) -> Markup:
    merged = {other.id: other.rule for other in analysis.findings if one.id in other.explained_by}
    others = dict.fromkeys(name.split("-")[0] for name in one.saving.overlaps_with if name not in merged)
    parts: list[str] = []
    if one.saving.stated_ns > 0:
        parts.append(f"{savings.basis(one.saving)}.")
    if others:
        parts.append(f"Shares time with {', '.join(others)}.")
    if merged:
        parts.append(f"Explains {', '.join(dict.fromkeys(merged.values()))}.")
    return prose(" ".join(parts))


def _fix(fix: Advice) -> Fix:
    if fix.language == "text":
        return Fix(prose(f"{fix.code} {fix.note}".strip()), ())
    return Fix(prose(fix.note), tuple(_lines(safe.code(fix.code.rstrip("\n")), fix.language)))


def _lines(code: Sequence[str], language: str) -> Iterator[Line]:
    for text in code:
        kind = {"+": "add", "-": "del"}.get(text[:1], "same") if language == "diff" else "same"
        yield Line(kind, text)


def _verify(text: str) -> Markup:
    """A command as code, a sentence as one."""
    if text.startswith(("advisor ", "python ")) and ". " not in text:
        return Markup("<code>{}</code>").format(safe.name(text, 200))
    return prose(text)
