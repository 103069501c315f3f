"""The one screen of a tuning."""

from __future__ import annotations

import time
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widget import Widget

from analyzer.tui.draw.tuning import lines
from analyzer.tui.look.glyphs import Glyphs
from analyzer.tui.screens.sized import SizedScreen
from analyzer.tui.widgets.key_bar import KeyBar
from analyzer.tune.live import Live

_REFRESH_SECONDS = 0.5


class LiveTable(Widget):
    """All rows, drawn anew twice a second; the clock is `time.monotonic`."""

    def __init__(self, live: Live, glyphs: Glyphs) -> None:
        super().__init__()
        self._live = live
        self._glyphs = glyphs
        self._began = time.monotonic()
        self.stopping = False

    def on_mount(self) -> None:
        """Keep the seconds moving."""
        self.set_interval(_REFRESH_SECONDS, lambda: self.refresh(layout=True))

    def render(self) -> Content:
        """How far it is."""
        seconds = time.monotonic() - self._began
        return Content("\n").join(lines(self._live, self.size.width, seconds, self._glyphs, stopping=self.stopping))


class TuningScreen(SizedScreen[None]):
    """The table and its key."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(
            "q",
            "app.leave",
            "Stop and keep",
            key_display="q",
            id="tuning.stop",
            tooltip="End it; what was measured is kept",
        ),
        Binding("ctrl+c", "app.leave", "Stop", show=False, id="tuning.interrupt", priority=True, tooltip="As q"),
    ]

    def __init__(self, live: Live, glyphs: Glyphs) -> None:
        super().__init__()
        self._live = live
        self._glyphs = glyphs

    def compose(self) -> ComposeResult:
        """The table, which scrolls where it is longer than the screen, and the key."""
        with VerticalScroll(id="tuning"):
            yield LiveTable(self._live, self._glyphs)
        yield KeyBar(palette=False)
