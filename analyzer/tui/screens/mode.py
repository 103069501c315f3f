"""What the screens of the modes share."""

from __future__ import annotations

from textual.events import ScreenResume
from textual.screen import Screen


class ModeScreen(Screen[None]):
    """A screen that is kept while another mode is shown.

    Nothing changes its styles meanwhile: a new theme is applied when the mode is switched. Textual would apply all of them
    again whenever it comes back, and a table draw each of its cells anew: twice what the whole switch takes otherwise.
    """

    def on_screen_resume(self, event: ScreenResume) -> None:
        """Come back as it was left."""
        event.refresh_styles = False
