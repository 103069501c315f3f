"""How long the training thread could have run and had no core."""

from __future__ import annotations

import contextlib
import threading
import time

from .common import FAILURES


def without_core() -> tuple[int, int, int] | None:
    """How long this thread was ready to run and had no core, the time, both in ns, and which thread it is.

    None where the system does not tell.
    """
    with contextlib.suppress(*FAILURES, IndexError), open("/proc/thread-self/schedstat") as file:
        return int(file.read().split()[1]), time.perf_counter_ns(), threading.get_ident()
    return None


def share_waited(before: tuple[int, int, int] | None, after: tuple[int, int, int] | None) -> float | None:
    """Share of the time between two readings of one thread in which it had no core; None where they cannot be compared."""
    if before is None or after is None or before[2] != after[2]:
        return None
    return round(min(1.0, (after[0] - before[0]) / max(after[1] - before[1], 1)), 4)
