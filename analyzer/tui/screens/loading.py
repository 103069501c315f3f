"""While the trace is read: stages, a bar, the time so far, and how to stop."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container
from textual.screen import Screen

from analyzer.tui.glyphs import Glyphs
from analyzer.tui.messages import Progressed
from analyzer.tui.widgets.key_bar import KeyBar
from analyzer.tui.widgets.progress import Progress

# Sooner than this nothing is shown: a flash would only disturb. To start Python and import takes as long again.
SILENT_SECONDS = 0.15


class LoadingScreen(Screen[None]):
    """Shows progress, after a moment of silence."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(
            "c,escape", "app.cancel", "Cancel", key_display="c", id="loading.cancel", tooltip="Stop reading and leave"
        ),
    ]

    def __init__(self, name: str, glyphs: Glyphs) -> None:
        super().__init__(classes="-silent")
        self._trace_name = name
        self._glyphs = glyphs

    def compose(self) -> ComposeResult:
        """The progress and its key."""
        with Container(classes="stage"):
            yield Progress(self._trace_name, self._glyphs)
        yield KeyBar(palette=False)

    def on_mount(self) -> None:
        """Become visible when it takes longer."""
        self.set_timer(SILENT_SECONDS, lambda: self.remove_class("-silent"))

    def progressed(self, message: Progressed) -> None:
        """Show the new state."""
        self.query_one(Progress).advance(message.stage, message.done, message.total)
