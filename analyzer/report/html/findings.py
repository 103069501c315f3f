"""Findings, ready for the template."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from analyzer.analysis import Advice, Analysis, FindingDocument
from analyzer.page.findings import savings
from analyzer.page.findings.card import Card, card_of
from analyzer.page.findings.groups import first_to_change
from analyzer.page.words import safe
from analyzer.report.html.evidence_pieces import Piece, percent, pieces
from analyzer.report.html.prose import link, prose
from analyzer.units import duration

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


@dataclass(frozen=True)
class First:
    """The finding to begin with, in a line that leads to it."""

    anchor: str
    rule: str
    title: str
    place: str
    worth: str


@dataclass(frozen=True)
class Small:
    """A finding below the limit of a card: a line, and its fix, folded."""

    told: Markup
    fix: tuple[Fix, ...]
    verify: Markup


def findings(analysis: Analysis) -> tuple[Finding, ...]:
    """The cards, best first."""
    return tuple(_finding(card_of(one, analysis)) for one in analysis.cards[:_MOST_FINDINGS])


def first(analysis: Analysis) -> First | None:
    """What to change first; None where there is nothing to change."""
    found = first_to_change(analysis)
    if found is None:
        return None
    card = card_of(found, analysis)
    worth = f"{card.worth} ({card.share})" if card.share else card.worth
    return First(anchor(found), card.rule, card.title, card.place, safe.keep_units(worth))


def small(analysis: Analysis) -> tuple[Small, ...]:
    """The findings below the limit of a card; without what the notes on trust say."""
    return tuple(
        Small(_told(one), tuple(_fix(fix) for fix in one.fix), _verify(one.verify))
        for one in analysis.minor[:_MOST_FINDINGS]
    )


def _told(one: FindingDocument) -> Markup:
    return Markup("<code>{}</code> {}, {}. {}{}").format(
        safe.name(one.rule, 12),
        safe.name(one.title, 80),
        savings.worth(one) + savings.beside(one.saving),
        prose(one.why, 400),
        Markup(" Accepted: {}.").format(prose(one.accepted.rstrip("."), 400)) if one.accepted is not None else "",
    )


def anchor(finding: FindingDocument) -> str:
    """What a finding's element is called in the page."""
    return re.sub(r"[^A-Za-z0-9_-]", "", finding.id)[:40] or f"finding-{finding.rank}"


def _finding(card: Card) -> Finding:
    one = card.finding
    return Finding(
        anchor=anchor(one),
        severity=one.severity,
        mark=card.mark,
        word=card.word,
        rule=card.rule,
        title=card.title,
        percent=percent(one.saving.stated_ratio),
        saving=f"{savings.word(one.saving.kind)} {duration(one.saving.stated_ns)}" if card.amount else "",
        share=savings.share_of(one.saving) if card.amount else "",
        facts=f"{card.sure}, {card.seen}",
        lowered=card.lowered,
        briefly=card.briefly,
        place=card.place + (f" in {card.function}" if card.function else ""),
        accepted=prose(one.accepted or ""),
        why=prose(one.why),
        basis=_basis(card),
        evidence=tuple(pieces(one.evidence)),
        fix=tuple(_fix(fix) for fix in one.fix),
        verify=_verify(one.verify),
        caveats=tuple(prose(caveat) for caveat in one.caveats),
        references=tuple(filter(None, (link(reference) for reference in one.references))),
    )


def _basis(card: Card) -> Markup:
    parts = [f"{card.basis.removesuffix('.')}{card.beside}."] if card.basis else []
    if card.measured:
        parts.append(card.measured)
    if card.shares:
        parts.append(f"Shares time with {', '.join(card.shares)}.")
    if card.explains:
        parts.append(f"Explains {', '.join(card.explains)}.")
    return prose(" ".join(parts))


def _fix(fix: Advice) -> Fix:
    if fix.language == "text":
        return Fix(prose(f"{fix.code} {fix.note}".strip()), ())
    return Fix(prose(fix.note), tuple(lines_of(safe.code(fix.code.rstrip("\n")), fix.language)))


def lines_of(code: Sequence[str], language: str) -> Iterator[Line]:
    """Lines of code, those of a diff by what becomes of them; the names of its files are none."""
    named = 2 if language == "diff" and [line[:4] for line in code[:2]] == ["--- ", "+++ "] else 0
    for number, text in enumerate(code):
        kind = {"+": "add", "-": "del"}.get(text[:1], "same") if language == "diff" and number >= named else "same"
        yield Line(kind, text)


def _verify(text: str) -> Markup:
    """A command as code, a sentence as one."""
    if text.startswith(("advisor ", "python ")) and ". " not in text:
        return Markup("<code>{}</code>").format(safe.name(text, 200))
    return prose(text)
