"""Where a finding's time lies, in a sentence."""

from __future__ import annotations

import pytest

from analyzer.analysis.evidence import Intervals
from analyzer.report.html.evidence_pieces import pieces
from analyzer.report.markdown import evidence_tables
from analyzer.report.style import Style
from analyzer.report.text import evidence_lines

MS = 1_000_000


def test_what_is_left_out_of_the_places_counts_in_every_format() -> None:
    where = Intervals(
        title="where", step=3, spans=((0, 40 * MS), (50 * MS, 67 * MS)), left_out=198, left_out_ns=33 * MS
    )
    (piece,) = pieces([where])
    said = [piece.text, evidence_tables.evidence(where), next(evidence_lines.lines(where, Style(width=80)))]
    assert all("90 ms in 200 pieces" in text.replace("\xa0", " ") for text in said), said


@pytest.mark.parametrize(
    ("spans", "said"),
    [
        (((0, 57 * MS),), "57 ms in 1 piece, at its beginning."),
        (((5 * MS, 62 * MS),), "57 ms in 1 piece, from 5.0 ms on."),
        (((0, 40 * MS), (50 * MS, 67 * MS)), "57 ms in 2 pieces, the longest 40 ms at its beginning."),
    ],
)
def test_where_it_lies(spans: tuple[tuple[int, int], ...], said: str) -> None:
    where = Intervals(title="where", step=3, spans=spans)
    (piece,) = pieces([where])
    assert piece.text.replace("\xa0", " ") == said
