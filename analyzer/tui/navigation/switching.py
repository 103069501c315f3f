"""Switching between modes: a screen that is kept is there at once, and no styles are read a second time."""

from __future__ import annotations

from typing import ClassVar, TypeVar

from textual.binding import Binding, BindingType
from textual.widget import AwaitMount

from analyzer.tui.look.drawn import DrawnApp
from analyzer.tui.look.terminal import Look

Result = TypeVar("Result")
# Textual hides each switch for as long as a key may take; a timer of none at all divides by it.
AT_ONCE_SECONDS = 0.001


class SwitchingApp(DrawnApp[Result]):
    """An app whose modes never differ in styles, only by theme.

    Args:
        look: How to draw on this terminal.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("question_mark,f1", "help", "Help", key_display="?", id="app.help", tooltip="All keys"),
    ]

    def __init__(self, look: Look) -> None:
        super().__init__(look)
        self._themes: dict[str, str] = {}
        self._switched_to: str | None = None

    def switch_mode(self, mode: str) -> AwaitMount:
        """As Textual's, without what only screens with styles of their own need."""
        self._switched_to = mode
        try:
            return super().switch_mode(mode)
        finally:
            self._switched_to = None
            self._themes[mode] = self.theme

    def delay_update(self, delay: float = 0.05) -> None:
        """Hide how a new screen comes together, but not a kept one."""
        kept = self._switched_to is not None and self._switched_to in self._themes
        super().delay_update(AT_ONCE_SECONDS if kept else delay)

    def refresh_css(self, animate: bool = True) -> None:
        """Read all styles again, unless a mode is switched whose screen has them: a new one, or one of this theme."""
        if self._switched_to is None or self._themes.get(self._switched_to, self.theme) != self.theme:
            super().refresh_css(animate=animate)

    def action_help(self) -> None:
        """All keys, over whichever screen is shown."""
        from analyzer.tui.screens.help import HelpScreen

        self.push_screen(HelpScreen(self._glyphs))
