"""One finding in the list."""

from __future__ import annotations

from textual.content import Content
from textual.reactive import reactive
from textual.widgets import ListItem

from analyzer.analysis import FindingDocument
from analyzer.page.findings.card import Card
from analyzer.tui.draw.finding import row
from analyzer.tui.look.glyphs import Glyphs


class FindingRow(ListItem):
    """A list item that draws its finding itself, on one or two lines as styles say: half the widgets to style at each key."""

    ticked: reactive[bool] = reactive(False)
    """Whether it is assumed fixed."""

    def __init__(self, card: Card, glyphs: Glyphs, *, of_cards: bool, largest_ns: int, seen_on: str) -> None:
        super().__init__()
        self.card = card
        self._seen_on = seen_on
        self._glyphs = glyphs
        self._of_cards = of_cards
        self._largest_ns = largest_ns

    @property
    def finding(self) -> FindingDocument:
        """The finding drawn."""
        return self.card.finding

    def render(self) -> Content:
        """The row for the current size."""
        width, height = self.size
        return row(
            self.card, width, height, self._glyphs,
            of_cards=self._of_cards, largest_ns=self._largest_ns, seen_on=self._seen_on, ticked=self.ticked,
        )  # fmt: skip
