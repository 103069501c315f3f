"""What is known of the trace while its rules still run."""

from __future__ import annotations

from textual.content import Content
from textual.widget import Widget

from analyzer.analysis.first_look import FirstLook
from analyzer.tui.draw.first_look import PENDING, TITLE, first_look
from analyzer.tui.look.glyphs import Glyphs


class FirstLookBox(Widget):
    """Nothing until `show` is told what there is."""

    def __init__(self, glyphs: Glyphs) -> None:
        super().__init__(classes="notice -nothing")
        self._glyphs = glyphs
        self._look: FirstLook | None = None
        self.border_title = Content(f"{TITLE} {glyphs.dot} {PENDING}")

    def show(self, look: FirstLook) -> None:
        """Draw it; of several ranks the latest stands here."""
        self._look = look
        self.remove_class("-nothing")
        self.refresh(layout=True)

    def render(self) -> Content:
        """The lines for the current width."""
        return first_look(self._look, max(1, self.size.width), self._glyphs) if self._look else Content("")
