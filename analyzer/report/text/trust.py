"""How far the trace can be believed, what was mended while reading it, and what to record where it is of no use."""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.analysis import Analysis
from analyzer.page.recording import RECORD_AGAIN, mended, set_aside
from analyzer.page.words import safe
from analyzer.report.style import Style
from analyzer.report.text.heading import heading
from analyzer.units import count

_MOST = 12


def lines(analysis: Analysis, style: Style) -> Iterator[str]:
    """The reasons of the verdict, the repairs, and how the file is written where that is odd; nothing where all is well."""
    reasons = analysis.trust.reasons if analysis.trust.verdict != "unusable" else ()
    if reasons:
        yield style.paint("Trust", "title") + f"  {analysis.trust.verdict}"
        yield ""
        yield from _reasons(analysis, style)
    if analysis.repairs:
        if reasons:
            yield ""
        yield from heading("Repairs", "what reading mended or left out; the file itself is as it was", style)
        yield ""
        for repair in analysis.repairs[:_MOST]:
            yield from _item(mended(repair), style)
        if len(analysis.repairs) > _MOST:
            yield f"  … {count(len(analysis.repairs) - _MOST, 'more kind', 'more kinds')} of repair"
        for total in set_aside(analysis):
            yield from _item(total, style)
    if analysis.trace.notes:
        if reasons or analysis.repairs:
            yield ""
        yield style.paint("File", "title") + "  how it is written"
        yield ""
        for note in analysis.trace.notes[:_MOST]:
            yield from _item(note, style)


def unusable_lines(analysis: Analysis, style: Style) -> Iterator[str]:
    """Why there is no advice, and how to record a trace that allows some."""
    yield style.paint("Why", "title")
    yield ""
    yield from _reasons(analysis, style)
    yield ""
    yield style.paint("What to record instead", "title")
    yield ""
    advice = "A few warm-up steps, then at least three whole steps, each marked by prof.step():"
    yield from (f"  {text}" for text in safe.wrap(advice, style.width - 2))
    yield ""
    yield from (f"    {style.paint(line, 'code')}" for line in RECORD_AGAIN)
    yield ""
    yield "  `advisor collect train.py` records a script of yours this way."


def _reasons(analysis: Analysis, style: Style) -> Iterator[str]:
    reasons = analysis.trust.reasons
    for reason in reasons[:_MOST]:
        head = f"{reason.code} " if reason.code else ""
        yield from _item(f"{head}{reason.message}", style)
    if len(reasons) > _MOST:
        yield f"  … {count(len(reasons) - _MOST, 'more reason')}"
    codes = list(dict.fromkeys(reason.code for reason in reasons if reason.code))
    if codes:
        yield style.paint(f"  advisor rule {codes[0]} explains how this is measured.", "dim")


def _item(text: str, style: Style) -> Iterator[str]:
    for number, line in enumerate(safe.wrap(text, style.width - 4)):
        yield f"  {'·' if number == 0 else ' '} {line}"
