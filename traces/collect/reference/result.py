"""What a recording of the reference loop tells meanwhile, and what it comes to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

Progress = Callable[[int, int, str], None]
"""Told (done, total, label), for a progress bar; silent while steps are measured."""

Say = Callable[[str], None]
"""Given one line of text for the user, without a line end."""


@dataclass(frozen=True)
class CollectResult:
    """What was written.

    Attributes:
        path: the file.
        events: trace events in it.
        steps: ProfilerStep marks in it.
        bytes: its size on disk.
        profiled_step_ns: median step with the profiler on.
        unprofiled_step_ns: median step with it off; None when no step was left to time.
        not_there: why the file is not where it was asked for, but among the temporary files; empty where it is.
    """

    path: Path
    events: int
    steps: int
    bytes: int
    profiled_step_ns: int | None
    unprofiled_step_ns: int | None
    not_there: str = ""
