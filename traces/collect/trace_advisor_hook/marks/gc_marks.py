"""Passes of Python's garbage collector, as events of a recording."""

from __future__ import annotations

import contextlib
import gc
import os
import sys
from collections import Counter
from typing import Any

from ..software.own_code import own_line
from .ranges import begun, can_mark

# The generation whose passes go over all objects.
OLDEST = 2


class CollectionMarks:
    """Puts passes of Python's garbage collector into what the profiler records, each on the thread that it stops.

    Torch does so itself only where stacks are recorded (torch 2.9), which slows steps down. The youngest generation is left out:
    it is quick, and its turn comes every few hundred objects.
    """

    def __init__(self) -> None:
        self.open: Any = None
        self.pid = os.getpid()
        self.full = 0
        self.asked: Counter[tuple[str, int, str] | None] = Counter()

    def start(self) -> None:
        """The profiler is on."""
        self.stop()
        self.full, self.asked = 0, Counter()
        if can_mark():
            self.pid = os.getpid()
            gc.callbacks.append(self.mark)

    def stop(self) -> None:
        """The profiler is about to be turned off, or is off."""
        self.open = None
        with contextlib.suppress(ValueError):
            gc.callbacks.remove(self.mark)

    def mark(self, phase: str, info: dict[str, int]) -> None:
        """A pass begins or ends; in a child that was forked meanwhile nobody records."""
        if info["generation"] == 0 or os.getpid() != self.pid:
            return
        if phase == "start":
            self.note(info["generation"])
            self.open = begun("Python GC")
        elif self.open is not None:
            self.open.__exit__(None, None, None)
            self.open = None

    def note(self, generation: int) -> None:
        """Count a pass over all objects, and the program's own line that asked for it, if anybody did."""
        if generation != OLDEST:
            return
        self.full += 1
        if is_asked_for():
            self.asked[own_line(sys._getframe())] += 1

    def told(self) -> dict[str, Any]:
        """Whether passes are recorded, and who asked for those over all objects, JSON-able."""
        found: dict[str, Any] = {"full": self.full, "asked": self.asked.total()}
        place = max((one for one in self.asked if one is not None), key=lambda one: self.asked[one], default=None)
        if place is not None:
            found["line"] = dict(zip(("file", "line", "function"), place, strict=True)) | {"asked": self.asked[place]}
        return {"gc_recorded": can_mark(), "collections": found}


def passes_so_far() -> tuple[int, int]:
    """Passes over the two younger generations, and over all objects, since the process began."""
    _, middle, full = gc.get_stats()
    return int(middle["collections"]), int(full["collections"])


def is_asked_for() -> bool:
    """Whether the pass that begins was asked for: Python begins one itself only once there are more new objects than a limit."""
    fewest = gc.get_threshold()[0]
    return not (gc.isenabled() and 0 < fewest < gc.get_count()[0])
