"""What the worker tells the app; every screen gets its state from these and from its own widgets' messages."""

from __future__ import annotations

from dataclasses import dataclass

from textual.message import Message

from analyzer.analysis import Analysis
from traces.errors import AdvisorError


@dataclass
class Progressed(Message):
    """The analysis reached a point: `done` of `total` (0: unknown) in `stage`."""

    stage: str
    done: int
    total: int


@dataclass
class Analysed(Message):
    """The analysis is there."""

    analysis: Analysis


@dataclass
class Failed(Message):
    """The trace could not be read."""

    error: AdvisorError


class Stopped(Message):
    """The analysis was cancelled."""
