"""What a method came to, as plain numbers."""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class MethodResult:
    """One method, timed without the profiler.

    Args:
        name: The method's.
        title: The method's.
        totals_ns: Training time of each repeat, evaluation and start-up left out.
        epochs: Passes over the data in a repeat.
        losses: Average loss of the last epoch of each repeat.
        accuracies: Share of the test images classified correctly, of each repeat.
        trace: The trace of a separate run.
    """

    name: str
    title: str
    totals_ns: tuple[int, ...]
    epochs: int
    losses: tuple[float, ...]
    accuracies: tuple[float, ...]
    trace: Path

    @property
    def total_ns(self) -> int:
        """Median time of a repeat."""
        return round(statistics.median(self.totals_ns))

    @property
    def spread_ratio(self) -> float:
        """Half the distance from the fastest to the slowest repeat, as a share of the median."""
        return (max(self.totals_ns) - min(self.totals_ns)) / 2 / self.total_ns

    @property
    def loss(self) -> float:
        """Median final loss."""
        return statistics.median(self.losses)

    @property
    def accuracy(self) -> float:
        """Median final accuracy."""
        return statistics.median(self.accuracies)

    def speed_up(self, standard: MethodResult) -> float:
        """How many times as fast as the standard loop: the median over repeats, each held against the one of its turn."""
        if len(self.totals_ns) != len(standard.totals_ns):
            return standard.total_ns / self.total_ns
        pairs = zip(standard.totals_ns, self.totals_ns, strict=True)
        return statistics.median(slow / fast for slow, fast in pairs)

    def is_less_accurate(self, standard: MethodResult) -> bool:
        """Whether accuracy fell by more than the repeats of the two differ among themselves, and a point at least."""
        noise = max(max(result.accuracies) - min(result.accuracies) for result in (self, standard))
        return self.accuracy < standard.accuracy - max(noise, 0.01)


@dataclass(frozen=True)
class Skipped:
    """A method that cannot run here, or that did not come to its end, and why."""

    name: str
    title: str
    reason: str
    failed: bool = False
