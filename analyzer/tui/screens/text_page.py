"""What pages over the current screen share: a framed text that scrolls, and keys that close it."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.events import Resize
from textual.screen import ModalScreen
from textual.widgets import Static

from analyzer.tui.widgets.detail import CODE_LEFT, CODE_RIGHT, MOVES_CODE, SIDEWAYS

# Of the box (styles/base.tcss): its share of the screen, and the frame, the padding and the scroll bar.
SHARE, MARGIN = 0.96, 8
NARROWEST = 20


class TextPage(ModalScreen[None]):
    """A text drawn for the width there is.

    Args:
        title: Over the text.
        widest: Of the box, in cells, as its style says.
        classes: Of the box, beside its own.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,enter", "dismiss", "Close", id="page.close", tooltip="Close the page"),
        Binding("j,down", "scroll(1)", "Down", show=False, id="page.down", tooltip="Scroll down"),
        Binding("k,up", "scroll(-1)", "Up", show=False, id="page.up", tooltip="Scroll up"),
        Binding("g,home", "edge(-1)", "Top", show=False, id="page.top", tooltip="To the top"),
        Binding("G,end", "edge(1)", "End", show=False, id="page.end", tooltip="To the end"),
        Binding("left", f"sideways({-SIDEWAYS})", "Left", show=False, id="page.left", tooltip=CODE_LEFT),
        Binding("right", f"sideways({SIDEWAYS})", "Right", show=False, id="page.right", tooltip=CODE_RIGHT),
    ]

    def __init__(self, title: Content, widest: int = 76, classes: str = "") -> None:
        super().__init__()
        self._title = title
        self._widest = widest
        self._box_classes = f"modal {classes}".strip()
        self.shift = 0

    def compose(self) -> ComposeResult:
        """One scrolling text."""
        with VerticalScroll(classes=self._box_classes) as box:
            box.border_title = self._title
            box.border_subtitle = self._below()
            yield Static(self.text(self._room()))

    def text(self, width: int) -> Content:
        """The page at a width in cells, long lines of code from `shift` on."""
        raise NotImplementedError

    def on_resize(self, event: Resize) -> None:
        """Draw for the new width."""
        self._draw()

    def _draw(self) -> None:
        self.query_one(Static).update(self.text(self._room()))
        self.query_one(VerticalScroll).border_subtitle = self._below()

    def _below(self) -> str:
        """What closes the page, and the keys that move its code where some goes on beyond the edge."""
        return f"{MOVES_CODE}, Esc closes" if self.shift or self._moves(SIDEWAYS) else "Esc closes"

    def _moves(self, by: int) -> bool:
        """Whether anything is seen otherwise with code moved by so many cells: what fits, or has come to its end, stays."""
        shift, now = self.shift, self.text(self._room()).plain
        self.shift = max(0, shift + by)
        then, self.shift = self.text(self._room()).plain, shift
        return now != then

    def _room(self) -> int:
        return max(NARROWEST, min(self._widest, int(self.app.size.width * SHARE)) - MARGIN)

    def action_scroll(self, by: int) -> None:
        """Scroll the text."""
        self.query_one(VerticalScroll).scroll_relative(y=by, animate=False)

    def action_sideways(self, cells: int) -> None:
        """Move long lines of code."""
        if self._moves(cells):
            self.shift = max(0, self.shift + cells)
            self._draw()

    def action_edge(self, which: int) -> None:
        """Go to the top or to the end."""
        box = self.query_one(VerticalScroll)
        if which < 0:
            box.scroll_home(animate=False)
        else:
            box.scroll_end(animate=False)
