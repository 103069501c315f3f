"""The ranks of a job, row by row."""

from __future__ import annotations

from analyzer.analysis import Analysis, RankRow
from analyzer.page.words import safe
from analyzer.units import duration

RANK_HEADS = ("Rank", "A step", "Bound by", "In collectives a step", "")


def rank_rows(analysis: Analysis) -> list[tuple[str, str, str, str, str]]:
    """The ranks of the job, the one to look at first on top; empty for a trace on its own."""
    return [
        (
            f"{one.rank}",
            duration(one.step_ns),
            bound(one),
            duration(one.in_collectives_ns) if one.in_collectives_ns is not None else "-",
            "late: the others wait for it" if one.late else "",
        )
        for one in analysis.ranks
    ]


def bound(row: RankRow) -> str:
    """`input-bound`: what binds a rank."""
    return safe.clean(row.bound_by if row.bound_by in ("mixed", "unknown") else f"{row.bound_by}-bound")
