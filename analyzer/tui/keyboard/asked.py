"""Leaving the UI because a signal asks for it: the terminal gets back what it was, as after the key that leaves."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from traces import leftovers
from traces.ending import BY_SIGNAL, SIGNALS

# Leaving takes a tenth of a second. Where the terminal is gone, Textual waits without end for a place in the queue to it.
_PATIENCE_S = 5.0


class Asked:
    """Looks out for SIGTERM and SIGHUP while an app runs; raised there, an exception would leave the terminal as it is.

    Attributes:
        number: The signal that came; None so far.
    """

    def __init__(self) -> None:
        self.number: int | None = None
        self._leave: Callable[[], object] | None = None
        self._last_resort: threading.Timer | None = None

    @contextmanager
    def heard(self) -> Iterator[None]:
        """Inside, a signal makes the app leave."""
        listened = [number for number in SIGNALS if signal.getsignal(number) != signal.SIG_IGN]
        before = {number: signal.signal(number, self._hear) for number in listened}
        try:
            yield
        finally:
            if self._last_resort is not None:
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

    def _hear(self, number: int, _: Any) -> None:
        self.number = number
        if self._last_resort is None:
            self._last_resort = threading.Timer(_PATIENCE_S, _end, (number,))
            self._last_resort.daemon = True
            self._last_resort.start()
        if self._leave is not None:
            self._leave()


def _end(number: int) -> None:
    leftovers.sweep()
    os._exit(BY_SIGNAL + number)
