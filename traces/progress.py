"""How long work reports where it is, without knowing who watches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, runtime_checkable

# Called with (stage, done, total), done and total in the stage's own unit (bytes while reading). To cancel, raise from it.
Progress = Callable[[str, int, int], None]
# How a stage begins in which nothing happens until somebody else does something.
WAITING = "waiting"


@runtime_checkable
class CountsEvents(Protocol):
    """A progress that also shows how many events were decoded so far."""

    def count_events(self, number: int) -> None:
        """Told the events of this file so far, after each run of them."""
        ...


def event_counter(progress: object) -> Callable[[int], None]:
    """Where to tell events to; nowhere if the watcher does not show them."""
    return progress.count_events if isinstance(progress, CountsEvents) else lambda number: None


def silent(stage: str, done: int, total: int) -> None:
    """Watches nothing."""
