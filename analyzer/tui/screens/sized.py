"""What all screens share that fill the terminal."""

from __future__ import annotations

from typing import TypeVar

from textual import on
from textual.events import Mount
from textual.reactive import Reactive
from textual.screen import Screen
from textual.widget import Widget

from analyzer.tui.widgets.too_small import TooSmall

Result = TypeVar("Result")


class SizedScreen(Screen[Result]):
    """A screen that says so where the terminal is too small for it."""

    focused: Reactive[Widget | None] = Reactive(None, repaint=False)
    """As Textual's, but that no other widget is painted anew when it changes: both that are concerned paint themselves."""

    @on(Mount)
    async def _say_what_is_needed(self) -> None:
        """The words are there; styles show them."""
        await self.mount(TooSmall())
