"""The ranks of a job, opened by r, and first where a job is opened: who holds it up, a bar per rank, the most costly on top."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import Static

from analyzer import units
from analyzer.analysis import RankRow
from analyzer.page.job import JobPage
from analyzer.page.ranks import bound
from analyzer.tui.draw.job import about, rank_lines
from analyzer.tui.look.glyphs import Glyphs
from analyzer.tui.screens.menu import MenuScreen

# As the styles have it: the box, its share of the screen, its borders and padding.
_WIDEST, _SHARE, _FRAME = 116, 0.96, 6


class RanksScreen(MenuScreen):
    """Answers with the place of the chosen rank.

    Args:
        ranks: In the order of the answers.
        shown: The place of the rank on the screen.
        job: What is to be said of the job; None where only its ranks are known.
        glyphs: How to draw.
        width: Columns of the terminal.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("r", "dismiss", "Close", show=False, id="ranks.close", tooltip="Stay on this rank"),
    ]

    def __init__(self, ranks: Sequence[RankRow], shown: int, job: JobPage | None, glyphs: Glyphs, width: int) -> None:
        inside = min(_WIDEST, int(_SHARE * width)) - _FRAME
        drawn = rank_lines(job, inside, glyphs)[: len(ranks)] if job is not None else []
        lines = drawn if len(drawn) == len(ranks) else [_line(row) for row in ranks]
        super().__init__(job.title if job is not None else units.count(len(ranks), "rank"), "shows", lines, shown)
        self._job = job
        self._glyphs = glyphs
        self._inside = inside
        self._box_classes = "modal" if job is None else "modal job"

    def over(self) -> ComposeResult:
        """The job's verdict over its ranks."""
        if self._job is not None:
            yield Static(about(self._job, self._inside, self._glyphs), id="job")


def _line(row: RankRow) -> Content:
    inside = "" if row.in_collectives_ns is None else f"  {units.duration(row.in_collectives_ns):>8} in collectives"
    return Content.assemble(
        (f" rank {row.rank:<4}", "bold"),
        f" {units.duration(row.step_ns):>8} a step",
        (inside, "$quiet"),
        (f"  {bound(row)}", "$quiet"),
        ("  the others wait for it" if row.late else "", "bold $sev-high"),
    )
