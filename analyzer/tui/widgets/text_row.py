"""A line of the list that is no finding."""

from __future__ import annotations

from textual.content import Content
from textual.widgets import ListItem


class TextRow(ListItem):
    """A heading or a remark; the cursor passes over it.

    Args:
        text: The line.
        kind: Its class, for styles.
    """

    def __init__(self, text: Content, kind: str) -> None:
        super().__init__(disabled=True, classes=kind)
        self._text = text

    def render(self) -> Content:
        """The line."""
        return self._text
