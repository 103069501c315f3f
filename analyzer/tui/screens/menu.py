"""What menus over the current screen share: a framed list of lines, of which one is chosen."""

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


class MenuScreen(ModalScreen[int | None]):
    """Answers with the place of the chosen line, or with None.

    Args:
        title: Over the lines.
        verb: What Enter does with the chosen one.
        lines: To choose from.
        chosen: The place of the cursor at first.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "dismiss", "Close", id="menu.close", tooltip="Choose nothing"),
        Binding("j,down", "move(1)", "Down", show=False, id="menu.down", tooltip="The line below"),
        Binding("k,up", "move(-1)", "Up", show=False, id="menu.up", tooltip="The line above"),
        Binding("g", "edge(-1)", "First", show=False, id="menu.first", tooltip="The first line"),
        Binding("G", "edge(1)", "Last", show=False, id="menu.last", tooltip="The last line"),
    ]

    def __init__(self, title: str, verb: str, lines: Sequence[Content], chosen: int = 0) -> None:
        super().__init__()
        self._heading = title
        self._verb = verb
        self._lines = lines
        self._chosen = chosen
        self._box_classes = "modal"

    def over(self) -> ComposeResult:
        """What stands over the lines: nothing, unless a menu says so."""
        yield from ()

    def compose(self) -> ComposeResult:
        """The lines."""
        with Vertical(classes=self._box_classes) as box:
            box.border_title = Content(self._heading)
            box.border_subtitle = f"Enter {self._verb}, Esc closes"
            yield from self.over()
            yield OptionList(*(Option(line) for line in self._lines), compact=True)

    def on_mount(self) -> None:
        """Put the cursor where it belongs."""
        self.query_one(OptionList).highlighted = self._chosen

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Enter or a click."""
        event.stop()
        self.dismiss(event.option_index)

    def action_move(self, by: int) -> None:
        """Move the cursor."""
        menu = self.query_one(OptionList)
        if by > 0:
            menu.action_cursor_down()
        else:
            menu.action_cursor_up()

    def action_edge(self, which: int) -> None:
        """Go to the first or to the last line."""
        menu = self.query_one(OptionList)
        if which < 0:
            menu.action_first()
        else:
            menu.action_last()
