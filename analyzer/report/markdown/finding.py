"""One finding as a section that can be folded."""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.analysis import Advice, Analysis, FindingDocument
from analyzer.report import safe, savings, wording
from analyzer.report.markdown.detail import Detail
from analyzer.report.markdown.escape import block, code, inline_html, prose
from analyzer.report.markdown.evidence import evidence
from analyzer.report.text.findings import MARKS

_MOST_EVIDENCE = 4
_MOST_CAVEATS = 4
_LANGUAGES = {"diff": "diff", "python": "python", "shell": "bash", "text": ""}


def place(finding: FindingDocument) -> str | None:
    """`train.py:88` as code; None where the finding has no line."""
    if finding.location is None:
        return None
    file = safe.name(finding.location.file, 80)
    if finding.location.line is None and finding.location.function:
        return f"{code(safe.name(finding.location.function, 60))} in {code(file)}{finding.location.begins_text}"
    return code(f"{file}{finding.location.line_text}")


def section(finding: FindingDocument, analysis: Analysis, detail: Detail, opened: bool) -> str:
    """The section; nothing in it can end it early."""
    head = f"<b>{MARKS[finding.severity]} {inline_html(finding.rule, 12)}</b> {inline_html(finding.title)}"
    summary = f"<details{' open' if opened else ''}><summary>{head}: {savings.worth(finding)}</summary>"
    return "\n\n".join([summary, *(text for text in _body(finding, analysis, detail) if text), "</details>"])


def _body(finding: FindingDocument, analysis: Analysis, detail: Detail) -> Iterator[str]:
    if finding.accepted is not None:
        yield f"**Accepted:** {prose(finding.accepted, detail.paragraph)}"
    yield prose(finding.why, detail.paragraph)
    yield _facts(finding, analysis)
    where = place(finding)
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


def _facts(finding: FindingDocument, analysis: Analysis) -> str:
    merged = {other.id: other.rule for other in analysis.findings if finding.id in other.explained_by}
    others = [name.split("-")[0] for name in finding.saving.overlaps_with if name not in merged]
    seen = f"{finding.confidence} confidence, {savings.seen(finding)}"
    lowered = prose(wording.lowered(finding), 160)
    seen = f"{finding.severity} severity, {lowered}; {seen}" if lowered else seen
    parts = [prose(savings.basis(finding.saving), 500)] if finding.saving.stated_ns > 0 else []
    if others:
        parts.append(f"shares time with {', '.join(code(one, 12) for one in dict.fromkeys(others))}")
    if merged:
        parts.append(f"explains {', '.join(code(one, 12) for one in dict.fromkeys(merged.values()))}")
    return f"{'; '.join([*parts, seen])}."


def _fix(fix: Advice, number: int, where: str | None, detail: Detail) -> Iterator[str]:
    head = "**Fix**" + (f", {where}" if where else "") if number == 0 else "**Or**"
    if fix.language == "text":
        yield f"{head}: {prose(f'{fix.code} {fix.note}'.strip(), detail.paragraph)}"
        return
    yield f"{head}: {prose(fix.note, detail.paragraph)}" if fix.note else head
    if detail.code:
        yield block(fix.code, _LANGUAGES[fix.language])
