"""How long the training thread could have run and had no core: other programs, or its own workers, had them all."""

from __future__ import annotations

import time
from pathlib import Path

# Of the thread that reads it: ns on a core, ns ready to run without one, time slices.
_SCHEDULED = Path("/proc/thread-self/schedstat")


def waited_ns() -> int | None:
    """Time this thread was ready to run and had no core, since it began; None where the system does not tell (Linux does)."""
    try:
        return int(_SCHEDULED.read_text(encoding="ascii").split()[1])
    except (OSError, IndexError, ValueError):
        return None


class CoreWait:
    """Measures from when it is made; on one thread."""

    def __init__(self) -> None:
        self._waited, self._started = waited_ns(), time.perf_counter_ns()

    def ns(self) -> int:
        """Time without a core since then; 0 where the system does not tell."""
        now = waited_ns()
        return 0 if now is None or self._waited is None else now - self._waited

    def ratio(self) -> float | None:
        """The same as a share of the time since then; None where the system does not tell."""
        passed = time.perf_counter_ns() - self._started
        return None if self._waited is None else round(min(1.0, self.ns() / max(passed, 1)), 4)
