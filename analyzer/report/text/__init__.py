"""An `Analysis` as plain text for a terminal, a log or an editor that jumps to `file:line:`.

Read from the top: the verdict and the two figures, where each step goes, one line per finding, the five largest in
full, then what was checked and how far the trace can be believed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from analyzer.analysis import Analysis
from analyzer.page.findings.card import card_of
from analyzer.report.style import Style
from analyzer.report.text import (
    assumed_lines,
    brief,
    card,
    change_lines,
    chart,
    checks,
    findings,
    headline,
    job,
    modules,
    operators,
    ranks,
    trust,
)
from traces.patterns import Pattern

# GitHub's runner takes a line of a log that starts like this for a command, also after spaces.
_RUNNER_COMMAND = Pattern(r"^(\s*)(::|##\[)", re.MULTILINE)


def render(analysis: Analysis, style: Style | None = None, *, briefly: bool = False) -> str:
    """The report, ending in a newline.

    Args:
        analysis: The document.
        style: How it may look.
        briefly: Only what answers: verdict, bar, findings and the first fix.
    """
    style = style or Style()
    lines = _brief(analysis, style) if briefly else _blocks(analysis, style)
    blocks = [block for block in map(list, lines) if block]
    text = "\n\n".join("\n".join(line.rstrip() for line in block) for block in blocks) + "\n"
    return style.encode(_RUNNER_COMMAND.sub(r"\1\\\2", text))


def _brief(analysis: Analysis, style: Style) -> Iterator[Iterator[str]]:
    yield job.lines(analysis, style)
    yield headline.lines(analysis, style, alone=True)
    yield change_lines.lines(analysis, style)
    if analysis.trust.verdict == "unusable":
        yield trust.unusable_lines(analysis, style)
    else:
        yield ranks.lines(analysis, style)
        yield brief.bar_lines(analysis, style)
        yield assumed_lines.lines(analysis, style)
        yield brief.finding_lines(analysis, style)
        yield brief.fix_lines(analysis, style)
    yield brief.more_lines(style)


def _blocks(analysis: Analysis, style: Style) -> Iterator[Iterator[str]]:
    yield job.lines(analysis, style)
    yield headline.lines(analysis, style)
    yield change_lines.lines(analysis, style)
    if analysis.trust.verdict == "unusable":
        yield trust.unusable_lines(analysis, style)
    else:
        yield ranks.lines(analysis, style)
        yield chart.lines(analysis, style)
        yield assumed_lines.lines(analysis, style)
        yield chart.step_lines(analysis, style)
        yield findings.lines(analysis, style)
        for finding in analysis.cards[: findings.IN_FULL]:
            yield card.lines(card_of(finding, analysis), style)
        yield findings.rest_lines(analysis, style)
        yield findings.small_lines(analysis, style)
        yield operators.lines(analysis, style)
        yield modules.lines(analysis, style)
    yield checks.lines(analysis, style)
    yield trust.lines(analysis, style)
