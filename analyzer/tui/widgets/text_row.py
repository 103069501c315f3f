"""A line of the list that is no finding."""

from __future__ import annotations

from textual.content import Content
from textual.widgets import ListItem

from analyzer.tui.draw.finding import ends


class TextRow(ListItem):
    """A heading or a remark; the cursor passes over it.

    Args:
        text: The line.
        kind: Its class, for styles.
        right: What stands at the right end.
    """

    def __init__(self, text: Content, kind: str, right: Content | None = None) -> None:
        super().__init__(disabled=True, classes=kind)
        self._text = text
        self._right = right or Content("")

    def render(self) -> Content:
        """The line."""
        return ends(self._text, self._right, self.size.width) if self._right else self._text
