"""What the screens of the modes share."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.events import ScreenResume
from textual.widget import Widget

from analyzer.tui.screens.sized import SizedScreen


class ModeScreen(SizedScreen[None]):
    """A screen that is kept while another mode is shown.

    Nothing changes its styles meanwhile: a new theme is applied when the mode is switched. Textual would apply all of them
    again whenever it comes back, and a table draw each of its cells anew: twice what the whole switch takes otherwise.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("z", "zoom_pane", "Zoom", show=False, id="mode.zoom", tooltip="Maximise the pane, and back"),
    ]

    def on_screen_resume(self, event: ScreenResume) -> None:
        """Come back as it was left."""
        event.refresh_styles = False

    def pane(self) -> Widget | None:
        """What z maximises: what has the focus."""
        return self.focused

    def action_zoom_pane(self) -> None:
        """Maximise the pane, or undo it."""
        pane = self.pane()
        if self.maximized is not None:
            self.minimize()
        elif pane is not None:
            self.maximize(pane, container=False)
