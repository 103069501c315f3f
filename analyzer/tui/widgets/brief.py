"""The finding in a few lines: where there is no room for its detail, and where the list leaves room (styles)."""

from __future__ import annotations

from textual.content import Content
from textual.reactive import reactive
from textual.widget import Widget

from analyzer.analysis import Analysis, FindingDocument
from analyzer.page.findings.card import card_of
from analyzer.tui.draw.brief import brief
from analyzer.tui.draw.finding import heading
from analyzer.tui.look.glyphs import Glyphs

# A line for each; and more than so many tell no more.
ANSWERS, LONGEST = 3, 7


class Brief(Widget):
    """Draws as much as its height holds.

    Args:
        analysis: The document.
        glyphs: How to draw.
        id: For styles.
        named: Whether a heading says which finding it is, and little room leaves it out.
    """

    finding: reactive[FindingDocument | None] = reactive(None)
    """The finding drawn."""

    def __init__(self, analysis: Analysis, glyphs: Glyphs, id: str, *, named: bool = False) -> None:
        super().__init__(id=id)
        self._analysis = analysis
        self._glyphs = glyphs
        self._named = named

    def render(self) -> Content:
        """The lines for the current size."""
        width, height = self.size
        finding = self.finding
        if finding is None:
            return Content("")
        card = card_of(finding, self._analysis)
        if not self._named:
            return brief(card, width, height, self._glyphs)
        # Less than the three answers under an empty line and a heading would be a remnant.
        if height < ANSWERS + 2:
            return Content("")
        drawn = brief(card, width, min(height - 2, LONGEST), self._glyphs)
        return Content("\n").join([Content(""), heading(f"{finding.rule} in short"), drawn])
