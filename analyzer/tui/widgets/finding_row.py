"""One finding in the list."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.content import Content
from textual.widget import Widget
from textual.widgets import ListItem

from analyzer.analysis import FindingDocument
from analyzer.tui.draw.finding import row
from analyzer.tui.glyphs import Glyphs


class FindingText(Widget):
    """The drawn row; one or two lines as styles say."""

    def __init__(self, finding: FindingDocument, glyphs: Glyphs, *, card: bool, largest_ns: int, seen_on: str) -> None:
        super().__init__()
        self._finding = finding
        self._seen_on = seen_on
        self._glyphs = glyphs
        self._card = card
        self._largest_ns = largest_ns

    def render(self) -> Content:
        """The row for the current size."""
        width, height = self.size
        return row(
            self._finding, width, height, self._glyphs,
            card=self._card, largest_ns=self._largest_ns, seen_on=self._seen_on,
        )  # fmt: skip


class FindingRow(ListItem):
    """A list item that knows its finding."""

    def __init__(self, finding: FindingDocument, glyphs: Glyphs, *, card: bool, largest_ns: int, seen_on: str) -> None:
        super().__init__()
        self.finding = finding
        self._text = FindingText(finding, glyphs, card=card, largest_ns=largest_ns, seen_on=seen_on)

    def compose(self) -> ComposeResult:
        """The text."""
        yield self._text
