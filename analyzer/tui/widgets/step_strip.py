"""The step strip: waterfall, lanes, bracket, step bars."""

from __future__ import annotations

from textual.content import Content
from textual.reactive import reactive
from textual.widget import Widget

from analyzer import units
from analyzer.analysis import Analysis, FindingDocument
from analyzer.page.findings.groups import unit
from analyzer.tui.answer import wording
from analyzer.tui.draw.step import strip
from analyzer.tui.look.glyphs import Glyphs


class StepStrip(Widget):
    """Draws as much as its height (set by styles) holds."""

    finding: reactive[FindingDocument | None] = reactive(None)
    """The selected finding, whose part of the step gets the bracket."""

    shown: reactive[Analysis | None] = reactive(None, init=False)
    """The document drawn instead, where fixes are assumed."""

    def __init__(self, analysis: Analysis, glyphs: Glyphs) -> None:
        super().__init__(id="strip")
        self._analysis = analysis
        self._glyphs = glyphs
        self.border_title = Content(f" {glyphs.dot} ".join(wording.source(analysis)))
        self.border_subtitle = self._below(analysis)

    def _below(self, analysis: Analysis) -> Content:
        step, noun = analysis.summary.representative_step, unit(analysis)
        what_if = f"what if {self._glyphs.dot} " if analysis.assumed is not None else ""
        if noun == "recording":
            return Content(f"{what_if}the whole trace")
        which = f"lanes: {noun} {step} {self._glyphs.dot} " if step is not None else ""
        mean = f"mean of {units.count(analysis.summary.used_steps, noun)}"
        return Content(f"{what_if}{which}{mean}")

    def watch_shown(self) -> None:
        """Say below what is drawn."""
        self.border_subtitle = self._below(self.shown or self._analysis)

    def render(self) -> Content:
        """The strip for the current size."""
        return strip(self.shown or self._analysis, self.finding, self.size.width, self.size.height, self._glyphs)
