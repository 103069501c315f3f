"""The ranks of a job, where several were given: who is late, what binds each."""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.analysis import Analysis, RankRow
from analyzer.page.ranks import bound
from analyzer.report.style import Style
from analyzer.units import count, duration

_SHOWN = 16


def lines(analysis: Analysis, style: Style) -> Iterator[str]:
    """A row per rank, the one shown in this report first."""
    if len(analysis.ranks) < 2:
        return
    shown = analysis.trace.ranks[0] if analysis.trace.ranks else None
    yield style.paint(f"{count(len(analysis.ranks), 'rank')}, this report is of rank {shown}", "title")
    if analysis.job is not None:
        # Their bars stand on top already.
        return
    yield ""
    for row in analysis.ranks[:_SHOWN]:
        yield from _row(row, style)
    if len(analysis.ranks) > _SHOWN:
        yield f"  {count(len(analysis.ranks) - _SHOWN, 'more rank')}, which wait more than these"


def _row(row: RankRow, style: Style) -> Iterator[str]:
    inside = "" if row.in_collectives_ns is None else f"{duration(row.in_collectives_ns):>8} in collectives"
    mark = style.paint("  the others wait for it", "bad") if row.late else ""
    yield f"  rank {row.rank:<4} {duration(row.step_ns):>8} a step  {inside:<24}  {bound(row)}{mark}"
