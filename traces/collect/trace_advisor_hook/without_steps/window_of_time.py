"""Recording without steps: a span of time where none show."""

from __future__ import annotations

import contextlib
import signal
import sys
import threading
import time
import types

from ..common import FAILURES, NAME
from ..software.own_code import is_own
from ..watcher import Watcher
from .forwards import Finder

# On a busy machine it takes longer than the window to begin it.
START_S = 60.0
# A program that only runs its model calls it many times in this time.
LOOK_S = 0.2
# The profiler imports what it needs, 900 modules. Inside an import that may be one that is only half there: its import fails then,
# the profiler's and, as parts of it stay behind, the script's own. A script that does all its work inside an import of its own
# files is recorded after this time.
IMPORT_S = 20.0


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
        self.began, self.ended = threading.Event(), threading.Event()
        # The event that is asked for: a signal may come late, or twice.
        self.wanted: threading.Event | None = None
        self.patient_until = 0.0
        self.busy = False

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
        self.ask(self.began)
        time.sleep(self.watcher.settings["window_s"])
        self.ask(self.ended)

    def ask(self, wanted: threading.Event) -> None:
        """Bring the main thread here until it has done what is wanted, unless it has found steps."""
        until = time.monotonic() + START_S
        self.wanted, self.patient_until = wanted, time.monotonic() + IMPORT_S
        while (self._importing() or time.monotonic() < until) and (self.without_steps or self.watcher.source == "time"):
            if signal.getsignal(self.number) != self.toggle:
                return
            signal.pthread_kill(threading.main_thread().ident or 0, self.number)
            if wanted.wait(LOOK_S):
                return

    def _importing(self) -> bool:
        """Whether the main thread imports what has to be whole before a recording begins."""
        return self.wanted is self.began and _half_there()

    def toggle(self, _: int, frame: types.FrameType | None) -> None:
        """Begin the recording, or end it; runs in the main thread.

        Asked for again while it does so (an export takes longer than a look), it would turn the profiler off twice, and crash.
        """
        if self.busy or (_imports(frame) and (time.monotonic() < self.patient_until or _half_there())):
            return
        self.busy = True
        try:
            self._toggle()
        finally:
            self.busy = False

    def _toggle(self) -> None:
        with contextlib.suppress(*FAILURES):
            if self.wanted is self.ended and self.watcher.phase == "window":
                self.watcher.stop_profiler()
                self.watcher.phase = "done"
                self.watcher.tell()
                self.ended.set()
            elif self.wanted is self.began and self.without_steps and not _profiled():
                self.watcher.source = "time"
                self.watcher.start_profiler(None, self.watcher.settings["stacks"], self.watcher.settings["shapes"])
                self.watcher.phase = "window"
                self.began.set()

    @property
    def without_steps(self) -> bool:
        """Whether no steps were found, or so few calls of a model that they are not worth waiting for."""
        return not self.watcher.source or (self.watcher.source == "forward" and self.watcher.phase == "skip")


def _imports(frame: types.FrameType | None) -> bool:
    """Whether a frame, or one that called it, is importing a module."""
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            return True
        frame = frame.f_back
    return False


def _half_there() -> bool:
    """Whether a module is being imported that is not the user's own."""
    with contextlib.suppress(*FAILURES):
        specs = [getattr(module, "__spec__", None) for module in list(sys.modules.values())]
        half = [spec for spec in specs if spec is not None and getattr(spec, "_initializing", False) is True]
        return not all(is_own(spec.origin or "") for spec in half)
    return True


def _profiled() -> bool:
    """Whether a profiler of the script's own is on."""
    return bool(sys.modules["torch"].autograd._profiler_enabled())
