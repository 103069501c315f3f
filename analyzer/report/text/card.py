"""One finding in full: why, the numbers, what to change, how to see that it worked, when it may be wrong."""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.analysis import Advice
from analyzer.page.findings import savings
from analyzer.page.findings.card import Card
from analyzer.page.words import safe
from analyzer.report.style import Role, Style
from analyzer.report.text import evidence_lines
from analyzer.units import count

_MOST_CODE_LINES = 30
_LABEL = 10


def lines(card: Card, style: Style) -> Iterator[str]:
    """The card, top to bottom."""
    finding = card.finding
    yield _title(card, style)
    for text in safe.wrap(" · ".join(_facts(card)), style.width - 2):
        yield f"  {style.paint(text, 'dim')}"
    yield ""
    if finding.accepted is not None:
        yield from labelled("Accepted", finding.accepted, style)
        yield ""
    yield from (f"  {text}" for text in safe.wrap(finding.why, style.width - 2))
    shown = [line for one in finding.evidence for line in evidence_lines.lines(one, style)]
    if shown:
        yield ""
        yield from shown
    for number, fix in enumerate(finding.fix):
        yield ""
        yield from fix_lines(fix, number, style)
    yield ""
    yield from labelled("Check", finding.verify, style)
    yield from labelled("Basis", _basis(card), style)
    for caveat in finding.caveats:
        yield from labelled("Caveat", caveat, style)
    for reference in finding.references[:2]:
        yield from labelled("See", reference, style)


def _title(card: Card, style: Style) -> str:
    severity = card.finding.severity
    head = f"{style.paint(card.mark, severity)} {style.paint(f'{card.rule} {card.title}', 'strong')}"
    if not card.amount:
        return f"{head}: {card.worth}"
    worth = style.paint(f"{card.amount} ({card.share})", severity)
    return f"{head}: {savings.word(card.finding.saving.kind)} {worth}{card.beside}"


def _facts(card: Card) -> Iterator[str]:
    yield f"{card.finding.severity} severity" + (f", {card.lowered}" if card.lowered else "")
    yield card.sure
    yield card.seen
    if card.place:
        yield card.place + (f" in {card.function}" if card.function else "")
    if card.explains:
        yield f"explains {', '.join(card.explains)}"


def _basis(card: Card) -> str:
    """Where the figure comes from, and which other cards count some of the same time."""
    basis = card.basis or "No saving is claimed."
    basis += f" {card.measured}" if card.measured else ""
    return basis + (f" Shares time with {', '.join(card.shares)}." if card.shares else "")


def labelled(label: str, text: str, style: Style) -> Iterator[str]:
    """`Check     text`, wrapped under itself."""
    for number, line in enumerate(safe.wrap(text, style.width - 2 - _LABEL)):
        head = f"{label if number == 0 else '':<{_LABEL}}"
        yield f"  {style.paint(head, 'strong')}{line}"


def fix_lines(fix: Advice, number: int, style: Style) -> Iterator[str]:
    """A change: what to do in words, and the code, its indentation kept."""
    yield from fix_words(fix, number, style)
    yield from fix_code(fix, style)


def fix_words(fix: Advice, number: int, style: Style) -> Iterator[str]:
    """What to do in words."""
    label = "Fix" if number == 0 else "or"
    said = f"{fix.code} {fix.note}".strip() if fix.language == "text" else fix.note or "Change:"
    yield from labelled(label, said, style)


def fix_code(fix: Advice, style: Style) -> Iterator[str]:
    """What to do as code; nothing where it is only told in words."""
    if fix.language == "text":
        return
    code = safe.code(fix.code.rstrip("\n"))
    for line in code[:_MOST_CODE_LINES]:
        # A code line keeps its length: it is there to be copied. Only what no screen can hold is cut.
        yield " " * (2 + _LABEL) + style.paint(safe.middle(line, 400), _code_role(line, fix.language))
    if len(code) > _MOST_CODE_LINES:
        yield " " * (2 + _LABEL) + f"… {count(len(code) - _MOST_CODE_LINES, 'more line')}"


def _code_role(line: str, language: str) -> Role:
    if language == "diff" and line.startswith("+"):
        return "added"
    if language == "diff" and line.startswith("-"):
        return "removed"
    return "code"
