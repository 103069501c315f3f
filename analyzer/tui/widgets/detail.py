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
from analyzer.tui.draw.wrapped import wrapped
from analyzer.tui.look.glyphs import Glyphs
from analyzer.tui.widgets.brief import Brief
from analyzer.tui.widgets.framed import Framed

# What is said of it below, and the cells that a key moves code by.
MOVES_CODE = "left right: code"
CODE_LEFT, CODE_RIGHT = "Back in long lines of code", "On in long lines of code"
SIDEWAYS = 8
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
        drawn = self._draw(card_of(self.finding, self._analysis), width, self._glyphs)
        return Content("\n").join(wrapped(drawn, width))


def _head(card: Card, _width: int, glyphs: Glyphs) -> Content:
    return drawing.head(card, glyphs)


class Story(Part):
    """Why, fix and check; long lines of code go on beyond the edge, and `move` shows them."""

    shift: reactive[int] = reactive(0)
    """Cells of the code that lie to the left of the pane."""

    def __init__(self, analysis: Analysis, glyphs: Glyphs) -> None:
        super().__init__(self._shifted, analysis, glyphs, id="part-story")

    def _shifted(self, card: Card, width: int, glyphs: Glyphs) -> Content:
        return drawing.story(card, width, glyphs, self.shift)

    def watch_finding(self) -> None:
        """Another finding's code is shown from its beginning."""
        self.shift = 0

    def move(self, by: int) -> None:
        """Move the code by so many cells, as far as there is any."""
        self.shift = min(max(0, self.shift + by), self.beyond())

    def beyond(self) -> int:
        """By how many cells the longest line is longer than the pane."""
        if self.finding is None or not self.size.width:
            return 0
        return drawing.code_beyond(card_of(self.finding, self._analysis), self.size.width)


class Pane(VerticalScroll, Framed):
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

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left", f"sideways({-SIDEWAYS})", "Left", show=False, id="detail.left", tooltip=CODE_LEFT),
        Binding("right", f"sideways({SIDEWAYS})", "Right", show=False, id="detail.right", tooltip=CODE_RIGHT),
    ]  # fmt: skip

    def __init__(self, analysis: Analysis, glyphs: Glyphs) -> None:
        super().__init__(id="detail")
        self._place = ""
        self._analysis = analysis
        self._glyphs = glyphs

    def compose(self) -> ComposeResult:
        """Head, evidence, story; or all of it in a few lines."""
        yield Brief(self._analysis, self._glyphs, id="brief")
        yield Part(_head, self._analysis, self._glyphs, id="part-head")
        yield Part(drawing.evidence_part, self._analysis, self._glyphs, id="part-evidence")
        yield Story(self._analysis, self._glyphs)

    def say_place(self, place: str) -> None:
        """Which finding of how many it is, and where code goes on beyond the edge the keys that move it."""
        self._place = place
        self.call_after_refresh(self._say_below)

    def on_resize(self) -> None:
        """Another width, other lines that are too long."""
        self.call_after_refresh(self._say_below)

    def _say_below(self) -> None:
        keys = [MOVES_CODE] if self.query_one(Story).beyond() else []
        self.border_subtitle = Content(f" {self._glyphs.dot} ".join([*keys, self._place]))

    def action_sideways(self, cells: int) -> None:
        """Move long lines of code."""
        self.query_one(Story).move(cells)
