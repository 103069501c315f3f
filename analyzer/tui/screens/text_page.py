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
    ]

    def __init__(self, title: Content, widest: int = 76, classes: str = "") -> None:
        super().__init__()
        self._title = title
        self._widest = widest
        self._box_classes = f"modal {classes}".strip()

    def compose(self) -> ComposeResult:
        """One scrolling text."""
        with VerticalScroll(classes=self._box_classes) as box:
            box.border_title = self._title
            box.border_subtitle = "Esc closes"
            yield Static(self.text(self._room()))

    def text(self, width: int) -> Content:
        """The page at a width in cells."""
        raise NotImplementedError

    def on_resize(self, event: Resize) -> None:
        """Draw for the new width."""
        self.query_one(Static).update(self.text(self._room()))

    def _room(self) -> int:
        return max(NARROWEST, min(self._widest, int(self.app.size.width * SHARE)) - MARGIN)

    def action_scroll(self, by: int) -> None:
        """Scroll the text."""
        self.query_one(VerticalScroll).scroll_relative(y=by, animate=False)

    def action_edge(self, which: int) -> None:
        """Go to the top or to the end."""
        box = self.query_one(VerticalScroll)
        if which < 0:
            box.scroll_home(animate=False)
        else:
            box.scroll_end(animate=False)
