"""One finding in the list."""

from __future__ import annotations

from textual.content import Content
from textual.widgets import ListItem

from analyzer.analysis import FindingDocument
from analyzer.tui.draw.finding import row
from analyzer.tui.glyphs import Glyphs


class FindingRow(ListItem):
    """A list item that draws its finding itself, on one or two lines as styles say: half the widgets to style at each key."""

    def __init__(self, finding: FindingDocument, glyphs: Glyphs, *, card: bool, largest_ns: int, seen_on: str) -> None:
        super().__init__()
        self.finding = finding
        self._seen_on = seen_on
        self._glyphs = glyphs
        self._card = card
        self._largest_ns = largest_ns

    def render(self) -> Content:
        """The row for the current size."""
        width, height = self.size
        return row(
            self.finding, width, height, self._glyphs,
            card=self._card, largest_ns=self._largest_ns, seen_on=self._seen_on,
        )  # fmt: skip
