"""What a tuning says while it goes on: for lines on a terminal's edge, or a live table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from analyzer.analysis.tuning import Promise, TrialDocument


@dataclass(frozen=True)
class Note:
    """A sentence."""

    text: str


@dataclass(frozen=True)
class Baseline:
    """The script as it is was timed once more: nanoseconds a step in the median and of this run, and the noise so far."""

    step_ns: float
    last_ns: float
    noise_ratio: float


@dataclass(frozen=True)
class PlannedChange:
    """One change that will be tried, and what its findings state."""

    name: str
    title: str
    promise: Promise


@dataclass(frozen=True)
class Planned:
    """What will be tried, in order."""

    changes: tuple[PlannedChange, ...]


@dataclass(frozen=True)
class Running:
    """A run begins: of which change, with which value."""

    change: str
    value: str
    turn: int


@dataclass(frozen=True)
class Timed:
    """A run is over: nanoseconds a step; None where it has none."""

    change: str
    value: str
    step_ns: float | None


@dataclass(frozen=True)
class Judged:
    """A trial is over."""

    trial: TrialDocument


@dataclass(frozen=True)
class Interrupted:
    """Somebody asked it to end; what was measured is kept. Whoever holds the error knows by what."""

    error: KeyboardInterrupt


Event = Interrupted | Note | Baseline | Planned | Running | Timed | Judged
Tell = Callable[[Event], None]
