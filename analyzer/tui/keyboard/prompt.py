"""Esc without a wait.

A lone Esc may begin another key's sequence, so Textual waits for more; it looks whether the wait is over each time its wait for
input ends, which is every tenth of a second. No setting shortens that.
"""

from __future__ import annotations

import selectors
import sys
from types import SimpleNamespace


def answer_soon() -> None:
    """Let Textual look as often as it waits for the rest of a sequence; where it is built otherwise, nothing changes."""
    if sys.platform == "win32":
        return
    from textual import constants
    from textual.drivers import linux_driver

    class Impatient(selectors.SelectSelector):
        _came = False

        def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
            # Only what has just come can have been the beginning of something: nothing wakes up while nobody presses a key.
            longest = constants.ESCAPE_DELAY if self._came else timeout
            found = super().select(longest if timeout is None or longest is None else min(timeout, longest))
            self._came = bool(found)
            return found

    names = {**vars(selectors), "SelectSelector": Impatient}
    if getattr(linux_driver, "selectors", None) is selectors:
        vars(linux_driver)["selectors"] = SimpleNamespace(**names)
