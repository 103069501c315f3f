"""What every app of ours has: our themes, ASCII where there is no Unicode, nothing that moves."""

from __future__ import annotations

from typing import TypeVar

from textual import on
from textual.app import App
from textual.events import Mount

from analyzer.tui.look.ascii import AsciiFilter
from analyzer.tui.look.terminal import Look
from analyzer.tui.look.themes import ADVISOR_DARK, THEMES

Result = TypeVar("Result")


class DrawnApp(App[Result]):
    """An app drawn as its terminal allows.

    Args:
        look: How to draw on this terminal.
    """

    def __init__(self, look: Look) -> None:
        # Textual chooses its colour filter here: the theme alone would still send grey.
        super().__init__(ansi_color=True if look.ansi else None)
        self._glyphs = look.glyphs
        self.animation_level = "none"
        if not look.glyphs.unicode:
            # Textual has no public way to add a filter.
            self._filters.append(AsciiFilter())
        for theme in THEMES:
            self.register_theme(theme)
        self.theme = look.theme if look.theme in self.available_themes else ADVISOR_DARK.name

    @on(Mount)
    def _draw_again_after_a_suspension(self) -> None:
        # The shell has written over the screen; Textual repaints it by itself after an editor only.
        self.app_resume_signal.subscribe(self, lambda _: self.refresh(layout=True))

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """Our names exist in Textual's own themes too."""
        return dict(ADVISOR_DARK.variables)
