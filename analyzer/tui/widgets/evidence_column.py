"""The numbers beside the detail, on wide screens."""

from __future__ import annotations

from functools import partial

from textual.app import ComposeResult

from analyzer.analysis import Analysis
from analyzer.tui.draw import finding as drawing
from analyzer.tui.draw.whole import whole
from analyzer.tui.look.glyphs import Glyphs
from analyzer.tui.widgets.detail import Pane, Part


class EvidenceColumn(Pane):
    """The finding's evidence, then what all of them together could give, and each step.

    Args:
        analysis: The document.
        glyphs: How to draw.
    """

    def __init__(self, analysis: Analysis, glyphs: Glyphs) -> None:
        super().__init__(id="evidence")
        self._analysis = analysis
        self._glyphs = glyphs

    def compose(self) -> ComposeResult:
        """Evidence, then the whole."""
        yield Part(drawing.evidence_lines, self._analysis, self._glyphs, id="column-evidence")
        yield Part(partial(whole, self._analysis), self._analysis, self._glyphs, id="column-whole")
