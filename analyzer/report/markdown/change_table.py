"""What changed since the baseline: the answer and a table of what became of each finding."""

from __future__ import annotations

from analyzer.analysis import Analysis
from analyzer.page import changes as words
from analyzer.report.markdown.escape import cell, code, prose
from analyzer.report.markdown.evidence_tables import table


def since(analysis: Analysis) -> str:
    """Empty without a baseline; of a trace that cannot be believed only that nobody can say."""
    found = analysis.since
    if found is None:
        return ""
    usable = analysis.trust.verdict != "unusable"
    figures = words.figures(found) if usable else ""
    head = f"**Since baseline {code(found.baseline, 40)}**" + (f": {figures}." if figures else ".")
    blocks = [f"{head} {prose(words.answer(found), 600)}"]
    noted = [f"- {prose(text, 200)}" for text in words.noted(found)]
    blocks += ["\n".join(noted)] if noted else []
    rows = [
        [
            f"{row.mark}&nbsp;{row.words}",
            cell(f"{code(row.rule, 12)} {prose(row.title, 80)}"),
            cell(prose(row.detail, 200)),
        ]
        for row in words.listed(found)
        if usable
    ]
    if rows:
        blocks.append(table(("", "Finding", "Bound, and what came true"), "lll", rows))
    left = words.unlisted(found) if usable else ""
    return "\n\n".join([*blocks, *([left] if left else [])])
