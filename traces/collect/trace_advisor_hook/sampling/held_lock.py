"""For how long another thread kept the interpreter's lock, and whether it collected garbage all the while."""

from __future__ import annotations

import contextlib
import gc
import os
import time

from ..marks.gc_marks import is_asked_for
from ..surroundings.core_wait import ThreadWait

# The name of a pass that a program asked for, and of one that Python begins itself.
ASKED_FOR, ON_ITS_OWN = "gc.collect", "garbage collection"
_OLDEST = 2


class HeldLock:
    """Compares when a thread wakes up with when it wanted to; made and asked on that thread.

    Code in C that never lets go of the lock, such as a pass of the garbage collector, `json.loads` or `sorted`, keeps every other
    thread from looking: who wakes up behind it sees what comes next, a few milliseconds of another kind.

    Args:
        period_s: How long it sleeps.
    """

    def __init__(self, period_s: float) -> None:
        self._period_ns = round(period_s * 1e9)
        self._waiting = ThreadWait()
        self._passes = FullPasses()
        self._began_ns = self._without_core_ns = self._held_ns = 0

    def begin(self) -> None:
        """The thread is about to sleep."""
        self._passes.begin()
        self._without_core_ns, self._began_ns = self._waiting.ns(), time.perf_counter_ns()

    def missed(self) -> int:
        """How many more times it would have woken up meanwhile, had the lock been free; a core that others had is no lock."""
        late_ns = time.perf_counter_ns() - self._began_ns - self._period_ns
        self._held_ns = max(0, late_ns - (self._waiting.ns() - self._without_core_ns))
        if self._held_ns >= self._period_ns:
            self._passes.suspect()
        return self._held_ns // self._period_ns

    def collecting(self) -> str | None:
        """What collected garbage for half of that time and more: `ASKED_FOR` or `ON_ITS_OWN`; None where nothing did."""
        return self._passes.name if self._passes.took_ns() >= self._held_ns / 2 else None

    def end(self) -> None:
        """Nothing is looked at any more."""
        self._passes.end()


class FullPasses:
    """Times passes of the collector over all objects, from the first one on that kept a lock for long: most programs have none."""

    def __init__(self) -> None:
        self.name = ON_ITS_OWN
        self._pid = os.getpid()
        self._count = _count()
        self._ended_ns = 0
        self._since_ns: int | None = None

    def begin(self) -> None:
        """What took place so far is past."""
        self._ended_ns, self._count = 0, _count()

    def took_ns(self) -> int:
        """Time in passes since `begin`, with the one that is just over: the lock changes hands before anybody is told of that."""
        since_ns = self._since_ns
        return self._ended_ns + (0 if since_ns is None else time.perf_counter_ns() - since_ns)

    def suspect(self) -> None:
        """The lock was kept: where a full pass took place meanwhile, further ones are timed."""
        if self.mark not in gc.callbacks and _count() > self._count:
            gc.callbacks.append(self.mark)

    def mark(self, phase: str, info: dict[str, int]) -> None:
        """A pass begins or ends; in a child that was forked meanwhile nobody asks."""
        if info["generation"] != _OLDEST or os.getpid() != self._pid:
            return
        if phase == "start":
            self._since_ns = time.perf_counter_ns()
            self.name = ASKED_FOR if is_asked_for() else ON_ITS_OWN
        elif self._since_ns is not None:
            self._ended_ns += time.perf_counter_ns() - self._since_ns
            self._since_ns = None

    def end(self) -> None:
        """Time none any more."""
        with contextlib.suppress(ValueError):
            gc.callbacks.remove(self.mark)


def _count() -> int:
    """Passes over all objects so far."""
    return int(gc.get_stats()[_OLDEST]["collections"])
