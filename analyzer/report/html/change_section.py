"""What changed since the baseline, as the page shows it."""

from __future__ import annotations

from dataclasses import dataclass

from analyzer.analysis import Analysis
from analyzer.page import changes as words
from analyzer.page.words import safe
from analyzer.report.html.sheet import Head, Sheet


@dataclass(frozen=True)
class Since:
    """The section's parts; `kind` colours the answer."""

    head: str
    kind: str
    answer: str
    figures: str
    noted: tuple[str, ...]
    table: Sheet | None


def since(analysis: Analysis) -> Since | None:
    """None without a baseline; of a trace that cannot be believed only that nobody can say."""
    found = analysis.since
    if found is None:
        return None
    usable = analysis.trust.verdict != "unusable"
    rows = [
        [f"{row.mark} {row.words}", f"{row.rule} {row.title}", safe.keep_units(row.detail)]
        for row in words.listed(found)
        if usable
    ]
    heads = (Head("State"), Head("Finding"), Head("Bound, and what came true"))
    return Since(
        head=words.heading(found),
        kind=found.kind or "inconclusive",
        answer=safe.keep_units(words.answer(found)),
        figures=safe.keep_units(words.figures(found)) if usable else "",
        noted=tuple(words.noted(found)),
        table=Sheet(words.summary(found), heads, rows, words.unlisted(found)) if rows else None,
    )
