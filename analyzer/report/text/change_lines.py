"""What changed since the baseline: the answer, then the findings by what became of them."""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.analysis import Analysis
from analyzer.analysis.changes import RuleState
from analyzer.page import changes as words
from analyzer.page.words import safe
from analyzer.report.style import Role, Style
from analyzer.report.text.heading import heading

_ROLES: dict[RuleState, Role] = {"fixed": "good", "new": "bad", "still": "dim", "not checked": "medium"}


def lines(analysis: Analysis, style: Style) -> Iterator[str]:
    """Nothing without a baseline; of a trace that cannot be believed only that nobody can say."""
    since = analysis.since
    if since is None:
        return
    figures = words.figures(since) if analysis.trust.verdict != "unusable" else ""
    yield from heading(words.heading(since), figures, style)
    yield ""
    role: Role = "good" if since.kind == "faster" else "bad" if since.kind == "slower" else "strong"
    yield from (style.paint(f"  {line}", role) for line in safe.wrap(words.answer(since), style.width - 2))
    yield from (
        style.paint(f"  {line}", "dim") for text in words.noted(since) for line in safe.wrap(text, style.width - 2)
    )
    if analysis.trust.verdict == "unusable":
        return
    yield from (f"  {line}" for line in safe.wrap(words.summary(since), style.width - 2))
    for row in words.listed(since):
        text = f"{row.words}: {row.rule} {row.title}" + (f", {row.detail}" if row.detail else "")
        for number, line in enumerate(safe.wrap(text, style.width - 4)):
            yield f"  {style.paint(row.mark if number == 0 else ' ', _ROLES[row.state])} {line}"
    left = words.unlisted(since)
    if left:
        yield f"  {left}"
