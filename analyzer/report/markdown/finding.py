"""One finding as a section that can be folded."""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.analysis import Advice
from analyzer.page.findings.card import Card
from analyzer.page.words import safe
from analyzer.report.markdown.detail import Detail
from analyzer.report.markdown.escape import block, code, inline_html, prose
from analyzer.report.markdown.evidence_tables import evidence

_MOST_EVIDENCE = 4
_MOST_CAVEATS = 4
_LANGUAGES = {"diff": "diff", "python": "python", "shell": "bash", "text": ""}


def place_of(card: Card) -> str | None:
    """`train.py:88` as code; None where the finding has no line."""
    location = card.finding.location
    if location is None:
        return None
    if location.line is None and location.function:
        return f"{code(safe.name(location.function, 60))} in {code(card.place)}{location.begins_text}"
    return code(card.place)


def section(card: Card, detail: Detail, opened: bool) -> str:
    """The section; nothing in it can end it early."""
    head = f"<b>{card.mark} {inline_html(card.rule)}</b> {inline_html(card.title)}"
    summary = f"<details{' open' if opened else ''}><summary>{head}: {card.worth}</summary>"
    return "\n\n".join([summary, *(text for text in _body(card, detail) if text), "</details>"])


def _body(card: Card, detail: Detail) -> Iterator[str]:
    finding = card.finding
    if finding.accepted is not None:
        yield f"**Accepted:** {prose(finding.accepted, detail.paragraph)}"
    yield prose(finding.why, detail.paragraph)
    yield _facts(card)
    where = place_of(card)
    for number, fix in enumerate(finding.fix):
        yield from _fix(fix, number, where, detail)
    if finding.verify:
        yield "**Check that it worked**"
        yield block(finding.verify, "bash") if _is_command(finding.verify) else prose(finding.verify, detail.paragraph)
    if detail.evidence:
        yield from (evidence(one) for one in finding.evidence[:_MOST_EVIDENCE])
    for caveat in finding.caveats[:_MOST_CAVEATS]:
        yield f"**When this may be wrong:** {prose(caveat, detail.paragraph)}"
    links = [reference for reference in finding.references[:2] if _is_link(reference)]
    if links:
        yield "Read on: " + ", ".join(f"<{link}>" for link in links)


def _is_command(text: str) -> bool:
    return text.startswith(("advisor ", "python ", "nvidia-smi", "$ ")) and "\n" not in text and ". " not in text


def _is_link(text: str) -> bool:
    """Whether an address of a rule can stand between angle brackets."""
    return text.startswith("https://") and text.isascii() and text.isprintable() and not set(text) & set("<> \\`|\"'")


def _facts(card: Card) -> str:
    seen = f"{card.sure}, {card.seen}"
    if card.lowered:
        seen = f"{card.finding.severity} severity, {prose(card.lowered, 160)}; {seen}"
    parts = [prose(card.basis.removesuffix(".") + card.beside, 500)] if card.basis else []
    if card.measured:
        # A sentence elsewhere, here a part of one.
        parts.append(prose(card.measured[:1].lower() + card.measured[1:].removesuffix("."), 400))
    if card.shares:
        parts.append(f"shares time with {', '.join(map(code, card.shares))}")
    if card.explains:
        parts.append(f"explains {', '.join(map(code, card.explains))}")
    return f"{'; '.join([*parts, seen])}."


def _fix(fix: Advice, number: int, where: str | None, detail: Detail) -> Iterator[str]:
    head = "**Fix**" + (f", {where}" if where else "") if number == 0 else "**Or**"
    if fix.language == "text":
        yield f"{head}: {prose(f'{fix.code} {fix.note}'.strip(), detail.paragraph)}"
        return
    yield f"{head}: {prose(fix.note, detail.paragraph)}" if fix.note else head
    if detail.code:
        yield block(fix.code, _LANGUAGES[fix.language])
