"""What is marked beside what torch marks itself, as long as a profiler is on."""

from __future__ import annotations

from .fetch_marks import FetchMarks
from .gc_marks import CollectionMarks
from .known_marks import OfModule
from .module_marks import ModuleMarks


class Marks:
    """Passes of the garbage collector, batches that are drawn from no loader of torch's, and calls of modules.

    Args:
        modules: Whether calls of modules are wanted, as for `ModuleMarks`.
    """

    def __init__(self, modules: str) -> None:
        self.collections = CollectionMarks()
        self.fetches = FetchMarks()
        self.modules = ModuleMarks(modules)
        # Modules that compute what is known.
        self.again: list[OfModule] = []

    def start(self) -> None:
        """The profiler is on; calls of modules are marked in the steps that count alone, and begin by themselves."""
        self.collections.start()
        self.fetches.start()

    def stop(self) -> None:
        """The profiler is about to be turned off, or is off."""
        self.collections.stop()
        self.fetches.stop()
        self.modules.stop()
        held, self.again = self.again, []
        for module in held:
            module.end()
