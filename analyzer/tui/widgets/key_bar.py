"""The keys at the bottom. Where there is little room the first ones, help and quit stay."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.events import Resize
from textual.widgets import Footer
from textual.widgets._footer import FooterKey

ALWAYS = ("help", "leave", "app.help", "app.leave")
# Cells for the palette's hint at the right.
PALETTE = 12


class KeyBar(Footer):
    """Textual's footer, with keys left out that would not fit."""

    def compose(self) -> ComposeResult:
        """The keys in their order."""
        for widget in super().compose():
            if isinstance(widget, FooterKey) and widget.has_class("-command-palette"):
                widget.tooltip = "Every command, by name"
            yield widget

    def on_mount(self) -> None:
        """Choose once the keys are there."""
        self.call_after_refresh(self._choose, self.size.width)

    def on_resize(self, event: Resize) -> None:
        """Choose for the new width."""
        self._choose(event.size.width)

    async def recompose(self) -> None:
        """Textual makes the keys anew when they change."""
        await super().recompose()
        self._choose(self.size.width)

    def _choose(self, width: int) -> None:
        keys = list(self.query(FooterKey))
        palette = [key for key in keys if key.has_class("-command-palette")]
        ours = [key for key in keys if key not in palette]
        kept = [key for key in ours if key.action in ALWAYS]
        room = width - sum(map(_width, kept))
        for key in ours:
            if key not in kept:
                room -= _width(key)
                key.display = room >= 0
        for key in palette:
            key.display = room >= PALETTE


def _width(key: FooterKey) -> int:
    return len(key.key_display) + len(key.description) + 3
