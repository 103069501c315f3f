"""What the fixes that were asked for give: a sentence, and the bar that would be left."""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.analysis import Analysis
from analyzer.page import assumed as words
from analyzer.page.findings.what_if import without
from analyzer.page.step.waterfall import by_size
from analyzer.page.words import safe
from analyzer.report.style import Style
from analyzer.report.text import chart


def lines(analysis: Analysis, style: Style) -> Iterator[str]:
    """Nothing where no choice was asked for."""
    assumed = analysis.assumed
    if assumed is None or analysis.trust.verdict == "unusable":
        return
    left = without(analysis, assumed.ids)
    yield style.paint(words.heading(assumed), "title")
    yield ""
    text = safe.clean(" ".join(words.sentences(analysis, assumed)))
    yield from (f"  {line}" for line in safe.wrap(text, style.width - 2))
    yield ""
    yield chart.stacked_line(left, style)
    named = ", ".join(f"{part.label} {part.time}" for part in by_size(left))
    yield from (f"  {style.paint(line, 'dim')}" for line in safe.wrap(named, style.width - 2))
