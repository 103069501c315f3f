"""The keys at the bottom, on one line. Where there is little room the first ones, help and quit stay."""

from __future__ import annotations

from dataclasses import dataclass

from rich.cells import cell_len
from textual.content import Content
from textual.events import Click, MouseMove
from textual.screen import Screen
from textual.widget import Widget

ALWAYS = ("help", "leave", "app.help", "app.leave")
PALETTE_HINT = "palette"


@dataclass(frozen=True)
class Key:
    """A key as it is named, what it does in a word and in a sentence, the action behind it, and how Textual calls the key."""

    name: str
    word: str
    about: str
    action: str
    press: str

    @property
    def width(self) -> int:
        """Cells: name, word, and a blank around each."""
        return cell_len(self.name) + cell_len(self.word) + 3


class KeyBar(Widget):
    """Textual's own footer makes a widget of each key anew whenever the focus moves: 40 ms a time on a small machine.

    Args:
        palette: Whether the command palette can be opened from here.
    """

    def __init__(self, *, palette: bool = True) -> None:
        super().__init__()
        self._palette = palette
        self._keys: tuple[Key, ...] = ()
        self._hint: Key | None = None

    def on_mount(self) -> None:
        """Be told when other keys are valid."""
        self.screen.bindings_updated_signal.subscribe(self, self._changed)

    def _changed(self, screen: Screen[object]) -> None:
        if not self.is_attached or screen is not self.screen:
            return
        active = screen.active_bindings.values()
        keys: dict[str, Key] = {}
        for one in active:
            binding = one.binding
            if binding.show and one.enabled:
                name = self.app.get_key_display(binding)
                keys.setdefault(
                    binding.action, Key(name, binding.description, one.tooltip, binding.action, binding.key)
                )
        found = tuple(keys.values())
        if found != self._keys:
            self._keys = found
            self.refresh()
        if self._palette and self.app.ENABLE_COMMAND_PALETTE:
            self._hint = Key("^p", PALETTE_HINT, "Every command, by name", "app.command_palette", "ctrl+p")

    @property
    def shown(self) -> tuple[Key, ...]:
        """The keys there is room for, in their order; the palette's at the end."""
        kept = [key for key in self._keys if key.action in ALWAYS]
        room = self.size.width - sum(key.width for key in kept)
        chosen = []
        for key in self._keys:
            if key not in kept:
                room -= key.width
                if room < 0:
                    continue
            chosen.append(key)
        return (*chosen, *([self._hint] if self._hint is not None and room >= self._hint.width else []))

    def render(self) -> Content:
        """The keys left, the palette's right."""
        shown = self.shown
        parts = [Content.assemble(" ", (key.name, "bold $key"), " ", key.word, " ") for key in shown]
        if shown and shown[-1] is self._hint:
            free = self.size.width - sum(key.width for key in shown)
            parts.insert(-1, Content(" " * max(0, free)))
        return Content("").join(parts)

    def _at(self, x: int) -> Key | None:
        shown, end = self.shown, 0
        if self._hint is not None and self._hint in shown and x >= self.size.width - self._hint.width:
            return self._hint
        for key in shown:
            end += key.width
            if x < end:
                return key if key is not self._hint else None
        return None

    def on_mouse_move(self, event: MouseMove) -> None:
        """A sentence about the key under the pointer."""
        key = self._at(event.x)
        self.tooltip = key.about if key is not None else None

    def on_click(self, event: Click) -> None:
        """A click does what the key does."""
        key = self._at(event.x)
        if key is not None:
            self.app.simulate_key(key.press)
