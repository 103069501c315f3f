"""The tables of a document: spans of a step, ranks, what operators achieve, checks."""

from __future__ import annotations

from analyzer.analysis import Analysis, Timeline
from analyzer.page import hardware
from analyzer.page.findings.groups import words
from analyzer.page.ranks import RANK_HEADS, rank_rows
from analyzer.page.words import safe
from analyzer.page.words.vocabulary import CAUSES, STATES
from analyzer.report.html.prose import prose
from analyzer.report.html.sheet import Head, Sheet, without_empty
from analyzer.units import duration, share

_MOST_SPANS = 240
_MOST_OPERATORS = 60


def timeline_table(analysis: Analysis, shown: Timeline) -> Sheet:
    """The spans of all lanes, the longest where there are too many to read."""
    spans = [(lane.name, span) for lane in shown.lanes for span in lane.spans]
    least = sorted((span.dur_ns for _, span in spans), reverse=True)[_MOST_SPANS - 1] if len(spans) > _MOST_SPANS else 0
    rows = [
        [safe.name(lane, 40), duration(span.start_ns), duration(span.dur_ns), share(span.busy_ratio),
         safe.name(span.label, 80), CAUSES[span.cause]]
        for lane, span in spans
        if span.dur_ns >= least
    ][:_MOST_SPANS]  # fmt: skip
    heads = (Head("Lane"), Head("Start", True), Head("Duration", True), Head("Busy", True), Head("What"), Head("Cause"))
    left = len(spans) - len(rows)
    return Sheet(
        words("What each lane does in this step", analysis),
        heads,
        rows,
        f"{left:,} shorter spans are left out." if left else "",
    )


def ranks(analysis: Analysis) -> Sheet | None:
    """The ranks that were read together; None of a job, whose page begins with them, and of one rank."""
    rows = rank_rows(analysis) if analysis.job is None else []
    heads = tuple(Head(name or "Note", number in (0, 1, 3)) for number, name in enumerate(RANK_HEADS))
    return Sheet("The ranks of this job, the one to look at first on top", heads, rows) if rows else None


def operators(analysis: Analysis) -> Sheet | None:
    """What operators achieve; None where the document knows nothing of it."""
    rows = hardware.rows(analysis, _MOST_OPERATORS)
    figures = (Head(head[:1].upper() + head[1:], True) for head in hardware.HEADS)
    heads = (Head("Operator"), Head("Shapes"), *figures, Head("Why below"))
    cells = [[row.op, row.shapes, *hardware.cells(row), row.why] for row in rows]
    left = hardware.left_out(analysis, len(rows))
    if not rows:
        return None
    return without_empty(
        Sheet(words("What each operator achieves; times and calls of a mean step", analysis), heads, cells, left)
    )


def checks(analysis: Analysis) -> Sheet:
    """Every rule with its state and its reason."""
    rows = [
        [safe.name(check.rule, 12), safe.name(check.title, 80), STATES[check.state], prose(check.reason, 300)]
        for check in analysis.checks
    ]
    return Sheet(
        "Every check and what became of it", (Head("Rule"), Head("Looks for"), Head("State"), Head("Why")), rows
    )
