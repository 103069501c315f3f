"""What every screen is given: the answer, how to draw, and the measurements behind it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from analyzer.analysis import Analysis, RankRow
from analyzer.tui.look.glyphs import Glyphs

if TYPE_CHECKING:
    from analyzer.tui.answer.opened import Since
    from analyzer.views.measured import Measured


@dataclass(frozen=True, eq=False)
class Session:
    """One opened trace.

    Args:
        analysis: The document.
        glyphs: How to draw.
        measured: Views that need more than the document; None where only the document is there.
        path: The trace on disk, if there is one.
        rank: The rank shown, where several were opened.
        ranks: How many the job has here.
        seen_on: Words by a finding's id: on which ranks there is the same; empty where there is one rank.
        since: What changed since the baseline, where one was named.
    """

    analysis: Analysis
    glyphs: Glyphs
    measured: Measured | None = None
    path: Path | None = None
    rank: RankRow | None = None
    ranks: int = 1
    seen_on: Mapping[str, str] = field(default_factory=dict)
    since: Since | None = None
