"""How long the training thread could have run and had no core: other programs, or its own workers, had them all."""

from __future__ import annotations

import contextlib
import os
import threading
import time

from ..common import FAILURES

# Of the thread that reads it: ns on a core, ns ready to run without one, time slices. Linux tells.
_SCHEDULED = "/proc/thread-self/schedstat"


def waited_ns() -> int | None:
    """Time this thread was ready to run and had no core, since it began; None where the system does not tell."""
    with contextlib.suppress(*FAILURES, IndexError), open(_SCHEDULED) as file:
        return int(file.read().split()[1])
    return None


class ThreadWait:
    """What the thread that makes it has waited for a core; any thread may ask, and as often as there are steps.

    A look takes 1 us; opening the file for each would take 15. The file is never closed: a script that closes whatever is open may
    have given its number to a file of its own.
    """

    def __init__(self) -> None:
        self.file: int | None = None
        with contextlib.suppress(*FAILURES):
            self.file = os.open(f"/proc/self/task/{threading.get_native_id()}/schedstat", os.O_RDONLY)

    def ns(self) -> int:
        """Time without a core so far; 0 where the system does not tell."""
        with contextlib.suppress(*FAILURES, IndexError):
            return 0 if self.file is None else int(os.pread(self.file, 96, 0).split()[1])
        return 0


class CoreWait:
    """Measures from when it is made, on the thread that makes it."""

    def __init__(self) -> None:
        self.thread = threading.get_ident()
        self.waited, self.started = waited_ns(), time.perf_counter_ns()

    def _since(self) -> int | None:
        now = waited_ns() if threading.get_ident() == self.thread else None
        return None if now is None or self.waited is None else now - self.waited

    def ns(self) -> int:
        """Time without a core since then; 0 where the system does not tell, or asked on another thread."""
        return self._since() or 0

    def ratio(self) -> float | None:
        """The same as a share of the time since then; None where it is not known."""
        passed, waited = time.perf_counter_ns() - self.started, self._since()
        return None if waited is None else round(min(1.0, waited / max(passed, 1)), 4)
