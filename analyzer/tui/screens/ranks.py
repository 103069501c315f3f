"""The ranks of the job, opened by r: the one the others wait for on top."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from analyzer import units
from analyzer.analysis import RankRow
from analyzer.tui import wording


class RanksScreen(ModalScreen[int | None]):
    """Answers with the place of the chosen rank.

    Args:
        ranks: In the order of the answers.
        shown: The place of the rank on the screen.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,r", "dismiss", "Close", id="ranks.close", tooltip="Stay on this rank"),
        Binding("j,down", "move(1)", "Down", show=False, id="ranks.down", tooltip="The rank below"),
        Binding("k,up", "move(-1)", "Up", show=False, id="ranks.up", tooltip="The rank above"),
    ]

    def __init__(self, ranks: Sequence[RankRow], shown: int) -> None:
        super().__init__()
        self._ranks = ranks
        self._shown = shown

    def compose(self) -> ComposeResult:
        """A line for each rank."""
        with Vertical(classes="modal") as box:
            box.border_title = units.count(len(self._ranks), "rank")
            box.border_subtitle = "Enter shows, Esc closes"
            yield OptionList(*(Option(_line(row)) for row in self._ranks), compact=True)

    def on_mount(self) -> None:
        """The rank shown is chosen."""
        self.query_one(OptionList).highlighted = self._shown

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Enter or a click."""
        event.stop()
        self.dismiss(event.option_index)

    def action_move(self, by: int) -> None:
        """Move the cursor."""
        ranks = self.query_one(OptionList)
        if by > 0:
            ranks.action_cursor_down()
        else:
            ranks.action_cursor_up()


def _line(row: RankRow) -> Content:
    inside = "" if row.in_collectives_ns is None else f"  {units.duration(row.in_collectives_ns):>8} in collectives"
    return Content.assemble(
        (f" rank {row.rank:<4}", "bold"),
        f" {units.duration(row.step_ns):>8} a step",
        (inside, "$quiet"),
        (f"  {wording.bound(row)}", "$quiet"),
        ("  the others wait for it" if row.late else "", "bold $sev-high"),
    )
