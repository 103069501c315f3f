"""One finding in full: why, the numbers, what to change, how to see that it worked, when it may be wrong."""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.analysis import Advice, Analysis, FindingDocument
from analyzer.report import safe, savings, wording
from analyzer.report.style import Role, Style
from analyzer.report.text import evidence
from analyzer.report.text.findings import MARKS, place
from analyzer.units import duration, share

_MOST_CODE_LINES = 30
_LABEL = 10


def lines(finding: FindingDocument, analysis: Analysis, style: Style) -> Iterator[str]:
    """The card, top to bottom."""
    yield _title(finding, style)
    for text in safe.wrap(" · ".join(_facts(finding, analysis)), style.width - 2):
        yield f"  {style.paint(text, 'dim')}"
    yield ""
    if finding.accepted is not None:
        yield from _labelled("Accepted", finding.accepted, style)
        yield ""
    yield from (f"  {text}" for text in safe.wrap(finding.why, style.width - 2))
    shown = [line for one in finding.evidence for line in evidence.lines(one, style)]
    if shown:
        yield ""
        yield from shown
    for number, fix in enumerate(finding.fix):
        yield ""
        yield from _fix(fix, number, style)
    yield ""
    yield from _labelled("Check", finding.verify, style)
    yield from _labelled("Basis", _basis(finding, analysis), style)
    for caveat in finding.caveats:
        yield from _labelled("Caveat", caveat, style)
    for reference in finding.references[:2]:
        yield from _labelled("See", reference, style)


def _title(finding: FindingDocument, style: Style) -> str:
    mark = style.paint(MARKS[finding.severity], finding.severity)
    head = style.paint(f"{finding.rule} {safe.name(finding.title)}", "strong")
    saving = finding.saving
    worth = f"{duration(saving.stated_ns)} {savings.each(finding)} ({share(saving.stated_ratio)})"
    return f"{mark} {head}: {savings.word(saving.kind)} {style.paint(worth, finding.severity)}{savings.beside(saving)}"


def _facts(finding: FindingDocument, analysis: Analysis) -> Iterator[str]:
    lowered = safe.name(wording.lowered(finding), 160)
    yield f"{finding.severity} severity" + (f", {lowered}" if lowered else "")
    yield f"{finding.confidence} confidence"
    yield savings.seen(finding)
    if finding.location is not None:
        function = finding.location.function
        yield place(finding, analysis) + (
            f" in {safe.name(function, 60)}{finding.location.begins_text}" if function else ""
        )
    merged = _merged(finding, analysis)
    if merged:
        yield f"explains {', '.join(dict.fromkeys(merged.values()))}"


def _merged(finding: FindingDocument, analysis: Analysis) -> dict[str, str]:
    """Id and rule of the more general findings that this one stands for."""
    return {other.id: other.rule for other in analysis.findings if finding.id in other.explained_by}


def _basis(finding: FindingDocument, analysis: Analysis) -> str:
    """Where the figure comes from, and which other cards count some of the same time."""
    basis = finding.saving.basis.rstrip(".") or savings.name(finding.saving.kind).lower()
    merged = _merged(finding, analysis)
    others = (identity for identity in finding.saving.overlaps_with if identity not in merged)
    shared = ", ".join(dict.fromkeys(identity.split("-")[0] for identity in others))
    return f"{basis}." + (f" Shares time with {shared}." if shared else "")


def _labelled(label: str, text: str, style: Style) -> Iterator[str]:
    """`Check     text`, wrapped under itself."""
    for number, line in enumerate(safe.wrap(text, style.width - 2 - _LABEL)):
        head = f"{label if number == 0 else '':<{_LABEL}}"
        yield f"  {style.paint(head, 'strong')}{line}"


def _fix(fix: Advice, number: int, style: Style) -> Iterator[str]:
    label = "Fix" if number == 0 else "or"
    if fix.language == "text":
        yield from _labelled(label, f"{fix.code} {fix.note}".strip(), style)
        return
    yield from _labelled(label, fix.note or "Change:", style)
    code = safe.code(fix.code.rstrip("\n"))
    for line in code[:_MOST_CODE_LINES]:
        # A code line keeps its length: it is there to be copied. Only what no screen can hold is cut.
        yield " " * (2 + _LABEL) + style.paint(safe.middle(line, 400), _code_role(line, fix.language))
    if len(code) > _MOST_CODE_LINES:
        yield " " * (2 + _LABEL) + f"… {len(code) - _MOST_CODE_LINES} more lines"


def _code_role(line: str, language: str) -> Role:
    if language == "diff" and line.startswith("+"):
        return "added"
    if language == "diff" and line.startswith("-"):
        return "removed"
    return "code"
