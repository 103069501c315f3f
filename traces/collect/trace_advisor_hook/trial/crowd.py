"""What of the timed steps other programs took: only where nothing of the script's own can have had the core meanwhile."""

from __future__ import annotations

import contextlib
import glob
import time

from ..common import FAILURES
from ..surroundings.core_wait import ThreadWait

# What threads beside the training's may compute of the time, so that waiting for a core is not theirs.
_MOST_BESIDE = 0.05


class Crowd:
    """Measures from when it is made, on the thread that makes it."""

    def __init__(self) -> None:
        self.own = _has_children()
        self.waiting = ThreadWait()
        self.waited_ns, self.began_ns = self.waiting.ns(), time.perf_counter_ns()
        self.beside_ns = time.process_time_ns() - time.thread_time_ns()

    def saw(self, workers: bool) -> None:
        """Whether a loader has processes of its own just now."""
        self.own = self.own or workers

    def lacked_ns(self) -> int | None:
        """Time without a core since then; None where the script itself may have had it, or nobody tells."""
        beside_ns = time.process_time_ns() - time.thread_time_ns() - self.beside_ns
        passed_ns = time.perf_counter_ns() - self.began_ns
        if self.waiting.file is None or self.own or _has_children() or beside_ns > _MOST_BESIDE * passed_ns:
            return None
        return self.waiting.ns() - self.waited_ns


def _has_children() -> bool:
    """Whether this process has started others that live; so it is taken to be where the system does not tell."""
    told = glob.glob("/proc/self/task/*/children")
    with contextlib.suppress(*FAILURES):
        return not told or any(open(one).read().strip() for one in told)
    return True
