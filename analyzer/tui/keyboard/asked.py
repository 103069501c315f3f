"""Leaving the UI because a signal asks for it, or the terminal is gone: it gets back what it was, as after the key that leaves."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from traces import leftovers
from traces.ending import BY_SIGNAL, SIGNALS

# Leaving takes a tenth of a second. Where the terminal is gone, Textual waits without end for a place in the queue to it.
_PATIENCE_S = 5.0
# Behind a terminal that is gone, Textual keeps a core busy.
_LOOK_S = 1.0


class Asked:
    """Looks out for SIGTERM and SIGHUP while an app runs; raised there, an exception would leave the terminal as it is.

    Attributes:
        number: The signal that came; None so far.
    """

    def __init__(self) -> None:
        self.number: int | None = None
        self._leave: Callable[[], object] | None = None
        self._last_resort: threading.Timer | None = None
        self._left = threading.Event()

    @contextmanager
    def heard(self) -> Iterator[None]:
        """Inside, a signal makes the app leave."""
        before_it = set(threading.enumerate())
        listened = [number for number in SIGNALS if signal.getsignal(number) != signal.SIG_IGN]
        before = {number: signal.signal(number, self._hear) for number in listened}
        if _on_a_terminal():
            # Not the event loop: it is held up by what it cannot write.
            threading.Thread(target=self._look, daemon=True).start()
        try:
            yield
        finally:
            self._left.set()
            # Where the terminal goes while the screen comes back from an editor, Textual's threads stay, and would be waited for.
            if self._last_resort is not None and not _waited_for(before_it):
                self._last_resort.cancel()
            for number, handler in before.items():
                signal.signal(number, handler)

    def leave_by(self, leave: Callable[[], object]) -> None:
        """The app is there: how it leaves, which is done at once where it was asked before.

        Args:
            leave: Run in the event loop that runs now.
        """
        loop = asyncio.get_running_loop()
        self._leave = lambda: loop.call_soon_threadsafe(leave)
        if self.number is not None:
            self._leave()

    def _look(self) -> None:
        # Who ignores SIGHUP, as under `nohup`, is not told that the terminal is gone.
        while not self._left.wait(_LOOK_S):
            if not _on_a_terminal():
                self._hear(signal.SIGHUP, None)
                return

    def _hear(self, number: int, _: Any) -> None:
        self.number = number
        if self._last_resort is None:
            self._last_resort = threading.Timer(_PATIENCE_S, _end, (number,))
            self._last_resort.daemon = True
            self._last_resort.start()
        if self._leave is not None:
            self._leave()


def _waited_for(but: set[threading.Thread]) -> bool:
    """Whether threads run beside these for whose end Python would wait at its own."""
    return any(not thread.daemon for thread in threading.enumerate() if thread not in but)


def _on_a_terminal() -> bool:
    """Whether keys come from a terminal that is still there."""
    return hasattr(signal, "SIGHUP") and sys.__stdin__ is not None and sys.__stdin__.isatty()


def _end(number: int) -> None:
    leftovers.sweep()
    os._exit(BY_SIGNAL + number)
