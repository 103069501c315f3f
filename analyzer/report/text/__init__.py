"""An `Analysis` as plain text for a terminal, a log or an editor that jumps to `file:line:`.

Read from the top: the verdict and the two figures, where each step goes, one line per finding, the five largest in
full, then what was checked and how far the trace can be believed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from analyzer.analysis import Analysis
from analyzer.report.style import Style
from analyzer.report.text import card, chart, checks, findings, headline, job, ranks, since, trust

# GitHub's runner takes a line of a log that starts like this for a command, also after spaces.
_RUNNER_COMMAND = re.compile(r"^(\s*)(::|##\[)", re.MULTILINE)


def render(analysis: Analysis, style: Style | None = None) -> str:
    """The whole report, ending in a newline."""
    style = style or Style()
    blocks = [block for block in (list(lines) for lines in _blocks(analysis, style)) if block]
    text = "\n\n".join("\n".join(line.rstrip() for line in block) for block in blocks) + "\n"
    return style.encode(_RUNNER_COMMAND.sub(r"\1\\\2", text))


def _blocks(analysis: Analysis, style: Style) -> Iterator[Iterator[str]]:
    yield job.lines(analysis, style)
    yield headline.lines(analysis, style)
    yield since.lines(analysis, style)
    if analysis.trust.verdict == "unusable":
        yield trust.unusable_lines(analysis, style)
    else:
        yield ranks.lines(analysis, style)
        yield chart.lines(analysis, style)
        yield chart.step_lines(analysis, style)
        yield findings.lines(analysis, style)
        for finding in analysis.cards[: findings.IN_FULL]:
            yield card.lines(finding, analysis, style)
        yield findings.rest_lines(analysis, style)
        yield findings.small_lines(analysis, style)
    yield checks.lines(analysis, style)
    yield trust.lines(analysis, style)
