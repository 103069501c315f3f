"""Passes of the garbage collector that keep the interpreter's lock for so long that nobody can look at what goes on."""

from __future__ import annotations

import contextlib
import gc
import os
import sys
import time
from types import CodeType, FrameType

from ..marks.gc_marks import OLDEST, is_asked_for, passes_so_far

# The name of a pass that a program asked for, and of one that Python begins itself.
ASKED_FOR, ON_ITS_OWN = "gc.collect", "garbage collection"


class HeldLock:
    """Tells a thread that wakes up late whether a pass over all objects was why; made and asked on that thread.

    Who wakes up behind one sees what comes next, a few milliseconds of another kind. Passes are timed from the first one on that
    kept the lock for long: most programs have none. Nothing here lets go of the lock, so that whoever asks finds the other thread
    where the pass was begun. Other code in C keeps the lock as well; but a thread that lets go of it again and again, for moments
    too short to be taken, keeps it for as long, and stands anywhere.

    Args:
        period_s: How long the thread sleeps.
    """

    def __init__(self, period_s: float) -> None:
        self._period_ns = round(period_s * 1e9)
        self._pid = os.getpid()
        self._name = ON_ITS_OWN
        self._begun_by: CodeType | None = None
        self._began_ns = self._ended_ns = self._count = 0
        self._since_ns: int | None = None

    def begin(self) -> None:
        """The thread is about to sleep; what took place so far is past."""
        self._began_ns, self._ended_ns, self._count = time.perf_counter_ns(), 0, passes_so_far()[1]

    def missed(self) -> int:
        """How many more times it would have woken up but for passes over all objects; 0 where these are not most of the delay."""
        late_ns = time.perf_counter_ns() - self._began_ns - self._period_ns
        if late_ns < self._period_ns:
            return 0
        if self.mark not in gc.callbacks and passes_so_far()[1] > self._count:
            gc.callbacks.append(self.mark)
        # The lock changes hands before anybody is told that a pass is over.
        took_ns = self._ended_ns + self._open_ns()
        return min(took_ns, late_ns) // self._period_ns if 2 * took_ns >= late_ns else 0

    @property
    def name(self) -> str:
        """What the last pass is called: `ASKED_FOR` or `ON_ITS_OWN`."""
        return self._name

    def where(self, stack: list[FrameType]) -> list[FrameType]:
        """The stack up to the function in which the last pass began: above it may be what other libraries do at its end."""
        codes = [frame.f_code for frame in stack]
        return stack[: len(stack) - codes[::-1].index(self._begun_by)] if self._begun_by in codes else stack

    def mark(self, phase: str, info: dict[str, int]) -> None:
        """A pass begins or ends; in a child that was forked meanwhile nobody asks."""
        if info["generation"] != OLDEST or os.getpid() != self._pid:
            return
        if phase == "start":
            self._since_ns = time.perf_counter_ns()
            self._name, self._begun_by = ASKED_FOR if is_asked_for() else ON_ITS_OWN, sys._getframe(1).f_code
        elif self._since_ns is not None:
            self._ended_ns += self._open_ns()
            self._since_ns = None

    def _open_ns(self) -> int:
        """What the pass that goes on has taken since the thread fell asleep."""
        since_ns = self._since_ns
        return 0 if since_ns is None else time.perf_counter_ns() - max(since_ns, self._began_ns)

    def end(self) -> None:
        """Time none any more."""
        with contextlib.suppress(ValueError):
            gc.callbacks.remove(self.mark)
