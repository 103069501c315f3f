"""Passes of Python's garbage collector, as events of a recording."""

from __future__ import annotations

import contextlib
import gc
import os
import sys
from typing import Any


class CollectionMarks:
    """Puts passes of Python's garbage collector into what the profiler records, each on the thread that it stops.

    Torch does so itself only where stacks are recorded (torch 2.9), which slows steps down. The youngest generation is left out:
    it is quick, and its turn comes every few hundred objects.
    """

    def __init__(self) -> None:
        self.open: Any = None
        self.pid = os.getpid()

    @property
    def able(self) -> bool:
        """Whether this torch has a mark that reaches neither the dispatcher nor a graph that is being traced (torch 2.1)."""
        return hasattr(sys.modules["torch"]._C._profiler, "_RecordFunctionFast")

    def start(self) -> None:
        """The profiler is on."""
        self.stop()
        if self.able:
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
            self.open = sys.modules["torch"]._C._profiler._RecordFunctionFast("Python GC")
            self.open.__enter__()
        elif self.open is not None:
            self.open.__exit__(None, None, None)
            self.open = None
