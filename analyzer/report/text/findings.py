"""One line per finding, in the shape editors parse (`file:line: CODE [severity] title`), and the smaller ones."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from analyzer.analysis import CARD_RATIO, Analysis, FindingDocument
from analyzer.report import safe
from analyzer.report.style import Style
from analyzer.units import count, duration, share

# More cards than this and nobody reads the first.
IN_FULL = 5
_LIMIT = f"{CARD_RATIO * 100:.0f} %"
MARKS = {"high": "▲", "medium": "■", "low": "●", "info": "○"}


def place(finding: FindingDocument, analysis: Analysis) -> str:
    """`train.py:88`, or the name of the trace where the finding has no line of code."""
    if finding.location is None:
        return safe.name(analysis.trace.name, 60)
    file = safe.name(finding.location.file, 80)
    return file if finding.location.line is None else f"{file}:{finding.location.line}"


def saving(finding: FindingDocument) -> str:
    """`148 ms/step, 36 %`."""
    return f"{duration(finding.saving.ns_per_step_max)}/step, {share(finding.saving.ratio_max)}"


def line(finding: FindingDocument, analysis: Analysis, style: Style) -> str:
    """`train.py:88: DL001 [high] DataLoader leaves the GPU waiting (148 ms/step, 36 %)`."""
    severity = style.paint(f"[{finding.severity}]", finding.severity)
    worth = f" ({saving(finding)})" if finding.saving.ns_per_step_max > 0 else ""
    lived_with = " accepted" if finding.accepted is not None else ""
    return f"{place(finding, analysis)}: {finding.rule} {severity} {safe.name(finding.title)}{worth}{lived_with}"


def lines(analysis: Analysis, style: Style) -> Iterator[str]:
    """All findings worth a card, largest first; or that there are none, which is an answer."""
    cards = analysis.cards
    if not cards:
        yield from _nothing(analysis, style)
        return
    note = "each saves at most the time given; do not add them up" if len(cards) > 1 else "at most the time given"
    yield f"{style.paint(count(len(cards), 'finding'), 'title')}  {note}"
    yield ""
    yield from (line(finding, analysis, style) for finding in cards)


def _nothing(analysis: Analysis, style: Style) -> Iterator[str]:
    passed = sum(check.state == "clear" for check in analysis.checks)
    open_questions = sum(check.state in ("cannot_tell", "crashed") for check in analysis.checks)
    nothing = f"No finding is worth {_LIMIT} of the step or more"
    bound_by = analysis.summary.verdict.bound_by
    if bound_by == "compute":
        yield style.paint(f"✓ {nothing}.", "good")
    else:
        # Not a clean bill: the verdict above names a loss that no rule could pin down.
        yield from safe.wrap(f"{nothing}: no check names a cause that can be changed.", style.width)
    unknown = f", {open_questions} could not run (see below)" if open_questions else ""
    yield f"  {count(passed, 'check')} passed{unknown}."


def rest_lines(analysis: Analysis, style: Style) -> Iterator[str]:
    """The cards beyond the first five, a row each."""
    rest = analysis.cards[IN_FULL:]
    if not rest:
        return
    yield style.paint("Also found", "title")
    yield ""
    room = min(max(style.width - 48, 20), 40)
    yield style.paint(f"    {'rule':<7}{'finding':<{room}}{'saves':>8} {'of step':>8}  {'confidence':<11}steps", "dim")
    for finding in rest:
        mark = style.paint(MARKS[finding.severity], finding.severity)
        seen = f"{finding.steps.seen} of {finding.steps.of}"
        saves = duration(finding.saving.ns_per_step_max)
        yield (
            f"  {mark} {finding.rule:<7}{safe.pad(safe.clean(finding.title), room)}{saves:>8} "
            f"{share(finding.saving.ratio_max):>8}  {finding.confidence:<11}{seen}"
        )
    codes = ",".join(dict.fromkeys(finding.rule for finding in rest))
    trace = shlex.quote(safe.name(analysis.trace.name, 60))
    yield style.paint(f"  In full: advisor explain {trace} --select {codes}", "dim")


def small_lines(analysis: Analysis, style: Style) -> Iterator[str]:
    """Findings under 2 % of the step, or with nothing to save on their own, with what to do in a line."""
    cards = {finding.id for finding in analysis.cards}
    small = [finding for finding in analysis.findings if finding.id not in cards and not finding.explained_by]
    if not small:
        return
    yield style.paint("Minor", "title") + f"  under {_LIMIT} of the step, or no saving of its own"
    yield ""
    for finding in small:
        worth = f", at most {saving(finding)}" if finding.saving.ns_per_step_max > 0 else ""
        lived_with = f", accepted: {safe.name(finding.accepted)}" if finding.accepted is not None else ""
        head = f"{finding.rule} [{finding.severity}] {safe.name(finding.title)}{worth}{lived_with}"
        yield from (f"  {text}" for text in safe.wrap(head, style.width - 2))
        for text in safe.wrap(finding.why, style.width - 4)[:2]:
            yield style.paint(f"    {text}", "dim")
