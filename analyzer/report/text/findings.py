"""One line per finding, in the shape editors parse (`file:line: CODE [severity] title`), and the smaller ones."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from analyzer.analysis import Advice, Analysis, FindingDocument, FindingUnit
from analyzer.page.findings import savings
from analyzer.page.findings.card import lowered, place
from analyzer.page.findings.groups import NOTES, counts, grouped, no_card, notes_are, unit
from analyzer.page.recording import is_summary
from analyzer.page.words import safe
from analyzer.page.words.vocabulary import MARKS, passed_line
from analyzer.report.style import Style
from analyzer.report.text.heading import heading
from analyzer.units import duration, share

# More cards than this and nobody reads the first.
IN_FULL = 5
_NOTE_LINES = 2
_EACH: dict[FindingUnit, str] = {"step": "/step", "request": "/request", "recording": ""}


def saving(finding: FindingDocument) -> str:
    """`at most 148 ms/step, 36 %; 90 ms (22 %) likely`; with `, lowered: trust is caution` where that makes its severity lower."""
    stated = finding.saving
    amount = f"{savings.word(stated.kind)} {duration(stated.stated_ns)}{_EACH[finding.steps.noun]}, {savings.share_of(stated)}"
    short = lowered(finding, briefly=True)
    amount += f", {short}" if short else ""
    return amount + (savings.beside(stated) if stated.kind == "bound" else "")


def line(finding: FindingDocument, analysis: Analysis, style: Style) -> str:
    """`train.py:88: DL001 [high] DataLoader leaves the GPU waiting (at most 148 ms/step, 36 %)`."""
    severity = style.paint(f"[{finding.severity}]", finding.severity)
    worth = f" ({saving(finding)})" if finding.saving.stated_ns > 0 else ""
    lived_with = " accepted" if finding.accepted is not None else ""
    where = place(finding.location) or safe.name(analysis.trace.name, 60)
    return f"{where}: {finding.rule} {severity} {safe.name(finding.title)}{worth}{lived_with}"


def lines(analysis: Analysis, style: Style) -> Iterator[str]:
    """All findings worth a card, largest first; or that there are none, which is an answer."""
    cards = analysis.cards
    if not cards:
        yield from _nothing(analysis, style)
        return
    note = "they share time: do not add them up" if len(cards) > 1 else "what fixing it saves"
    yield from heading("Findings", f"{counts(analysis)}; {note}", style)
    yield ""
    yield from (line(finding, analysis, style) for finding in cards)


def _nothing(analysis: Analysis, style: Style) -> Iterator[str]:
    bound_by = analysis.summary.verdict.bound_by
    if is_summary(analysis):
        # Neither findings nor checks are in it: that there are none would be a clean bill.
        yield from safe.wrap(f"{no_card(analysis)}.", style.width)
        return
    if bound_by == "compute":
        yield style.paint(f"✓ {no_card(analysis)}.", "good")
    else:
        # Not a clean bill: the verdict above names a loss that no rule could pin down.
        yield from safe.wrap(f"{no_card(analysis)}: no check names a cause that can be changed.", style.width)
    yield f"  {passed_line(analysis.checks)}."
    found = counts(analysis)
    if found:
        yield f"  {found}."


def rest_lines(analysis: Analysis, style: Style) -> Iterator[str]:
    """The cards beyond the first five, a row each."""
    rest = analysis.cards[IN_FULL:]
    if not rest:
        return
    yield style.paint("Also found", "title")
    yield ""
    room = min(max(style.width - 48, 20), 40)
    yield style.paint(
        f"    {'rule':<7}{'finding':<{room}}{'saves':>8} {'share':>8}  {'confidence':<11}{unit(analysis)}s", "dim"
    )
    for finding in rest:
        mark = style.paint(MARKS[finding.severity], finding.severity)
        seen = f"{finding.steps.seen} of {finding.steps.of}"
        saves = duration(finding.saving.stated_ns)
        yield (
            f"  {mark} {finding.rule:<7}{safe.pad(safe.clean(finding.title), room)}{saves:>8} "
            f"{share(finding.saving.stated_ratio):>8}  {finding.confidence:<11}{seen}"
        )
        if finding.lowered_from is not None:
            yield from (style.paint(f"           {text}", "dim") for text in _why_lowered(finding, style.width - 11))
    codes = ",".join(dict.fromkeys(finding.rule for finding in rest))
    trace = shlex.quote(safe.name(analysis.trace.name, 60))
    yield style.paint(f"  In full: advisor explain {trace} --select {codes}", "dim")


def _why_lowered(finding: FindingDocument, width: int) -> list[str]:
    return safe.wrap(f"{finding.severity}, {lowered(finding)}", width)


def small_lines(analysis: Analysis, style: Style) -> Iterator[str]:
    """Findings under 2 % of the step, or with nothing to save on their own, with what to do in a line."""
    small = analysis.minor
    if not small:
        return
    yield from heading(NOTES, f"{notes_are(analysis)}{grouped(analysis).also_with_trust}", style)
    yield ""
    for finding in small:
        worth = f", {saving(finding)}" if finding.saving.stated_ns > 0 else ""
        lived_with = f", accepted: {safe.name(finding.accepted)}" if finding.accepted is not None else ""
        head = f"{finding.rule} [{finding.severity}] {safe.name(finding.title)}{worth}{lived_with}"
        yield from (f"  {text}" for text in safe.wrap(head, style.width - 2))
        yield from (style.paint(f"    {text}", "dim") for text in _cut(finding.why, style.width - 4))
        # What is only a symptom has nothing to change by itself.
        if finding.fix and finding.saving.stated_ns > 0:
            yield from (f"    {text}" for text in _cut(f"Fix: {_in_words(finding.fix[0])}", style.width - 4))


def _cut(text: str, width: int) -> list[str]:
    """Two lines of a text, with a mark where there is more of it."""
    wrapped = safe.wrap(text, width - 2)
    return wrapped if len(wrapped) <= _NOTE_LINES else [*wrapped[: _NOTE_LINES - 1], f"{wrapped[_NOTE_LINES - 1]} …"]


def _in_words(fix: Advice) -> str:
    """A change in a line: of a diff what it adds, and where it only removes its words."""
    if fix.language == "text":
        return fix.code
    code = fix.code.splitlines()
    if fix.language == "diff":
        code = [line[1:] for line in code if line.startswith("+")]
    return "; ".join(line.strip().rstrip(",") for line in code) or fix.note
