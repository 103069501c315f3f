"""The job before its ranks as Markdown: its verdict, who costs it how much, and what a step would take without."""

from __future__ import annotations

from collections.abc import Sequence

from analyzer.analysis import Analysis
from analyzer.page.job import JobPage, job_page
from analyzer.report.markdown.escape import cell, prose

_RANK_HEADS = ("Waits for others", "Bound by", "File")


def job(analysis: Analysis) -> str:
    """The block; empty where the trace stands alone."""
    page = job_page(analysis.job)
    if page is None:
        return ""
    ranks = [(str(bar.rank), bar.step, bar.waits, bar.about, bar.file) for bar in page.bars]
    blocks = [
        f"**{prose(page.title)}.** {prose(page.verdict, 600)}",
        _table(page.late_heads, page.late),
        _table(page.ideal_heads, page.ideal),
        _table((*page.rank_heads, *_RANK_HEADS), ranks),
        _notes(page),
    ]
    return "\n\n".join(block for block in blocks if block)


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    if not rows:
        return ""
    lines = [heads, ["---"] * len(heads), *([cell(value) for value in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _notes(page: JobPage) -> str:
    return "\n".join(f"- {prose(note, 300)}" for note in ([page.more_bars] if page.more_bars else []) + [*page.notes])
