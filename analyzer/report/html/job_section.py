"""The job on top of the page: verdict, a bar per rank, who is late, ranks x steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from analyzer.analysis import Analysis
from analyzer.page.job import JobPage, job_page
from analyzer.report.drawing.job import heat_map, narrow_rank_bars, rank_bars
from analyzer.report.drawing.shapes import Drawing
from analyzer.report.html.prose import prose
from analyzer.report.html.sheet import Head, Sheet


@dataclass(frozen=True)
class JobSection:
    """What the template shows of a job."""

    title: str
    verdict: Markup
    bars: Drawing | None
    narrow_bars: Drawing | None
    late: Sheet | None
    ideal: Sheet | None
    heat: Drawing | None
    ranks: Sheet
    notes: tuple[str, ...]
    of_rank: str


def job_section(analysis: Analysis) -> JobSection | None:
    """The section; None for a trace on its own."""
    page = job_page(analysis.job)
    if page is None:
        return None
    shown = f" of rank {analysis.trace.ranks[0]}" if analysis.trace.ranks else ""
    return JobSection(
        title=page.title,
        verdict=prose(page.verdict),
        bars=rank_bars(page),
        narrow_bars=narrow_rank_bars(page),
        late=_sheet("Late ranks, the one that costs most on top", page.late_heads, page.late),
        ideal=_sheet("What the job would take, played again", page.ideal_heads, page.ideal),
        heat=heat_map(page),
        ranks=_ranks(page),
        notes=page.notes,
        of_rank=f"The report{shown}, the one to look at first",
    )


def _sheet(caption: str, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> Sheet | None:
    return Sheet(caption, tuple(Head(head) for head in heads), rows) if rows else None


def _ranks(page: JobPage) -> Sheet:
    rows = [
        [f"rank {bar.rank}", bar.step, bar.waits, bar.about, f"advisor explain {bar.file}" if bar.file else ""]
        for bar in page.bars
    ]
    heads = (
        Head(page.rank_heads[0]),
        Head(page.rank_heads[1], True),
        Head("Waits for others", True),
        Head("Bound by"),
        Head("Its own report"),
    )
    return Sheet("Every rank, the most costly first", heads, rows, page.more_bars)
