"""While the trace is read: stages, a bar, the time so far, how to stop; once it is read, what is known before the rules ran."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container

from analyzer.tui.look.glyphs import Glyphs
from analyzer.tui.screens.sized import SizedScreen
from analyzer.tui.widgets.first_look import FirstLookBox
from analyzer.tui.widgets.key_bar import KeyBar
from analyzer.tui.widgets.progress import Progress
from analyzer.tui.work.messages import CancelWanted, FirstLooked, Progressed

# Sooner than this nothing is shown: a flash would only disturb. To start Python and import takes as long again.
SILENT_SECONDS = 0.15


class LoadingScreen(SizedScreen[None]):
    """Shows progress, after a moment of silence."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("c,escape", "cancel", "Cancel", key_display="c", id="loading.cancel", tooltip="Stop reading and leave"),
        # As in every other program; elsewhere it copies what is selected.
        Binding("ctrl+c", "cancel", "Cancel", show=False, id="loading.interrupt", priority=True, tooltip="As c"),
    ]

    def __init__(self, name: str, glyphs: Glyphs) -> None:
        super().__init__(classes="-silent")
        self._trace_name = name
        self._glyphs = glyphs

    def compose(self) -> ComposeResult:
        """The progress and its key."""
        with Container(classes="stage"):
            yield Progress(self._trace_name, self._glyphs)
            yield FirstLookBox(self._glyphs)
        yield KeyBar(palette=False)

    def on_mount(self) -> None:
        """Become visible when it takes longer."""
        self.set_timer(SILENT_SECONDS, lambda: self.remove_class("-silent"))

    def progressed(self, message: Progressed) -> None:
        """Show the new state."""
        self.query_one(Progress).advance(message.stage, message.done, message.total)

    def looked_first(self, message: FirstLooked) -> None:
        """Show what is known already."""
        self.query_one(FirstLookBox).show(message.look)

    def action_cancel(self) -> None:
        """Stop the analysis."""
        self.remove_class("-silent")
        self.query_one(Progress).stop()
        self.post_message(CancelWanted())
