"""What is marked beside what torch marks itself, from a profiler's start to its stop."""

from __future__ import annotations

from .fetch_marks import FetchMarks
from .gc_marks import CollectionMarks


class Marks:
    """Passes of the garbage collector, and batches that are drawn from no loader of torch's."""

    def __init__(self) -> None:
        self.collections = CollectionMarks()
        self.fetches = FetchMarks()

    def start(self) -> None:
        """The profiler is on."""
        self.collections.start()
        self.fetches.start()

    def stop(self) -> None:
        """The profiler is about to be turned off, or is off."""
        self.collections.stop()
        self.fetches.stop()
