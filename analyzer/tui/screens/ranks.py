"""The ranks of a job, opened by r: the one the others wait for first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.content import Content

from analyzer import units
from analyzer.analysis import RankRow
from analyzer.page.ranks import bound
from analyzer.tui.screens.menu import MenuScreen


class RanksScreen(MenuScreen):
    """Answers with the place of the chosen rank.

    Args:
        ranks: In the order of the answers.
        shown: The place of the rank on the screen.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("r", "dismiss", "Close", show=False, id="ranks.close", tooltip="Stay on this rank"),
    ]

    def __init__(self, ranks: Sequence[RankRow], shown: int) -> None:
        super().__init__(units.count(len(ranks), "rank"), "shows", [_line(row) for row in ranks], shown)


def _line(row: RankRow) -> Content:
    inside = "" if row.in_collectives_ns is None else f"  {units.duration(row.in_collectives_ns):>8} in collectives"
    return Content.assemble(
        (f" rank {row.rank:<4}", "bold"),
        f" {units.duration(row.step_ns):>8} a step",
        (inside, "$quiet"),
        (f"  {bound(row)}", "$quiet"),
        ("  the others wait for it" if row.late else "", "bold $sev-high"),
    )
