"""Recording without steps: a span of time where none show."""

from __future__ import annotations

import contextlib
import signal
import sys
import threading
import time
from typing import Any

from .common import FAILURES, NAME
from .forwards import Finder
from .watcher import Watcher

# On a busy machine it takes longer than the window to begin it.
START_S = 60.0
# A program that only runs its model calls it many times in this time.
LOOK_S = 0.2


def record_by_time(watcher: Watcher) -> None:
    """Where nothing shows steps for a while, record two seconds without any."""
    number = getattr(signal, "SIGUSR2", None)
    if number is None or signal.getsignal(number) != signal.SIG_DFL:
        return
    window = Window(watcher, number)
    signal.signal(number, window.toggle)
    threading.Thread(target=window.wait, daemon=True, name=NAME).start()


class Window:
    """Waits for steps, and begins and ends a recording without any where none come.

    The profiler follows the thread that starts it, so a signal brings us into the main thread; one that nobody else uses.

    Args:
        watcher: Records.
        number: The signal.
    """

    def __init__(self, watcher: Watcher, number: int) -> None:
        self.watcher = watcher
        self.number = number
        self.started = threading.Event()

    def wait(self) -> None:
        """Look for a module that is called again and again, then ask for the recording; runs in a thread of its own."""
        finder, until = Finder(self.watcher), time.monotonic() + self.watcher.settings["patience_s"]
        while time.monotonic() < until and self.watcher.source in ("", "forward"):
            time.sleep(LOOK_S)
            if not self.watcher.source:
                with contextlib.suppress(*FAILURES):
                    finder.look()
        if not self.without_steps:
            return
        self.ask()
        self.started.wait(START_S)
        time.sleep(self.watcher.settings["window_s"])
        self.ask()

    def ask(self) -> None:
        """Bring the main thread here, unless it has found steps."""
        wanted = self.without_steps or self.watcher.source == "time"
        if wanted and signal.getsignal(self.number) == self.toggle:
            signal.pthread_kill(threading.main_thread().ident or 0, self.number)

    def toggle(self, *_: Any) -> None:
        """Begin the recording, or end it; runs in the main thread."""
        with contextlib.suppress(*FAILURES):
            if self.watcher.phase == "window":
                self.watcher.stop_profiler()
                self.watcher.phase = "done"
                self.watcher.tell()
            elif self.without_steps and not sys.modules["torch"].autograd._profiler_enabled():
                self.watcher.source = "time"
                self.watcher.start_profiler(None, self.watcher.settings["stacks"], self.watcher.settings["shapes"])
                self.watcher.phase = "window"
                self.started.set()

    @property
    def without_steps(self) -> bool:
        """Whether no steps were found, or so few calls of a model that they are not worth waiting for."""
        return not self.watcher.source or (self.watcher.source == "forward" and self.watcher.phase == "skip")
