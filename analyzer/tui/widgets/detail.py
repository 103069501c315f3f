"""The detail of one finding: what, evidence, why, fix, check."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.geometry import Size
from textual.reactive import reactive
from textual.widget import Widget

from analyzer.analysis import Analysis, FindingDocument
from analyzer.page.findings.card import Card, card_of
from analyzer.tui.draw import finding as drawing
from analyzer.tui.look.glyphs import Glyphs
from analyzer.tui.widgets.brief import Brief

Draw = Callable[[Card, int, Glyphs], Content]


class Part(Widget):
    """One drawn part of a finding, as high as its content at the current width."""

    finding: reactive[FindingDocument | None] = reactive(None, layout=True)
    """The finding drawn."""

    def __init__(self, draw: Draw, analysis: Analysis, glyphs: Glyphs, id: str) -> None:
        super().__init__(id=id)
        self._analysis = analysis
        self._draw = draw
        self._glyphs = glyphs

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """The number of lines at `width`: bars are drawn for it, prose wraps at it."""
        content = self._content(width)
        return content.get_height({}, width) if content and width else 0

    def render(self) -> Content:
        """The part at the current width."""
        return self._content(self.size.width)

    def _content(self, width: int) -> Content:
        if self.finding is None or not width:
            return Content("")
        return self._draw(card_of(self.finding, self._analysis), width, self._glyphs)


def _head(card: Card, _width: int, glyphs: Glyphs) -> Content:
    return drawing.head(card, glyphs)


class Pane(VerticalScroll):
    """A framed pane that scrolls with the list's keys."""

    ALLOW_MAXIMIZE = True

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j,down", "scroll_down", "Down", show=False, id="pane.down", tooltip="Scroll down"),
        Binding("k,up", "scroll_up", "Up", show=False, id="pane.up", tooltip="Scroll up"),
        Binding("g,home", "scroll_home", "Top", show=False, id="pane.top", tooltip="To the top"),
        Binding("G,end", "scroll_end", "End", show=False, id="pane.end", tooltip="To the end"),
    ]

    def show(self, finding: FindingDocument | None) -> None:
        """Show this finding from its beginning; one that gained evidence stays where it was read."""
        before = {part.finding.id for part in self.query(Part) if part.finding}
        for part in self.query(Part):
            part.finding = finding
        if finding is None or finding.id not in before:
            self.scroll_home(animate=False)


class Detail(Pane):
    """The finding as a text; its evidence is here too where there is no column for it (styles)."""

    def __init__(self, analysis: Analysis, glyphs: Glyphs) -> None:
        super().__init__(id="detail")
        self._analysis = analysis
        self._glyphs = glyphs

    def compose(self) -> ComposeResult:
        """Head, evidence, story; or all of it in a few lines."""
        yield Brief(self._analysis, self._glyphs, id="brief")
        yield Part(_head, self._analysis, self._glyphs, id="part-head")
        yield Part(drawing.evidence_part, self._analysis, self._glyphs, id="part-evidence")
        yield Part(drawing.story, self._analysis, self._glyphs, id="part-story")
