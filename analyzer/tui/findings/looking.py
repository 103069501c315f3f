"""While more evidence is looked for: the list's title says for how long, and a key ends it. Part of the findings' screen."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from textual.reactive import reactive
from textual.screen import Screen
from textual.timer import Timer

from analyzer.tui.work.messages import DeeperUnwanted

if TYPE_CHECKING:
    Base = Screen[None]
else:
    Base = object

_EVERY_SECONDS = 1.0
# A look of a second is over before its length could be read.
_SAID_AFTER_SECONDS = 2


class Looking(Base):
    """Knows since when."""

    looking_deeper: reactive[bool] = reactive(False, init=False)
    """Whether more evidence is looked for."""

    _since = 0.0
    _clock: Timer | None = None

    def watch_looking_deeper(self) -> None:
        """Say that more evidence may come, and count."""
        if self.looking_deeper:
            self._since = time.monotonic()
            self._clock = self.set_interval(_EVERY_SECONDS, self.name_list)
        elif self._clock is not None:
            self._clock.stop()
        self.name_list()
        self.refresh_bindings()

    def name_list(self) -> None:
        """Write the list's title."""
        raise NotImplementedError

    def deeper_words(self) -> str:
        """What the title says of it; empty while nothing is looked for."""
        if not self.looking_deeper:
            return ""
        seconds = int(time.monotonic() - self._since)
        return "looking deeper" if seconds < _SAID_AFTER_SECONDS else f"looking deeper, {seconds} s, x stops"

    def action_stop_deeper(self) -> None:
        """End it: the findings stand as they are."""
        self.post_message(DeeperUnwanted())
