"""The finding in a few lines, where there is no room for its detail (styles)."""

from __future__ import annotations

from textual.content import Content
from textual.reactive import reactive
from textual.widget import Widget

from analyzer.analysis import FindingDocument
from analyzer.tui.draw.brief import brief
from analyzer.tui.glyphs import Glyphs


class Brief(Widget):
    """Draws as much as its height holds."""

    finding: reactive[FindingDocument | None] = reactive(None)
    """The finding drawn."""

    def __init__(self, glyphs: Glyphs) -> None:
        super().__init__(id="brief")
        self._glyphs = glyphs

    def render(self) -> Content:
        """The lines for the current size."""
        width, height = self.size
        return brief(self.finding, width, height, self._glyphs) if self.finding is not None else Content("")
