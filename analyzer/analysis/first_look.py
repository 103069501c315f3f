"""What is known of a trace before any rule has run, for whoever shows it while they do."""

from __future__ import annotations

from typing import Literal, Protocol, runtime_checkable

from analyzer.analysis.base import Document
from analyzer.analysis.summary import CauseTime, StepTimes


class FirstLook(Document, frozen=True, kw_only=True):
    """The steps and where their time goes. No doubt about the trace is weighed in it; it is no part of a report.

    `waterfall` adds up to the used steps together; `gpu_busy_ratio` is None without a device.
    """

    rank: int | None
    noun: Literal["step", "request", "recording"]
    step_ns: StepTimes
    used_steps: int
    gpu_busy_ratio: float | None
    waterfall: tuple[CauseTime, ...]


@runtime_checkable
class TakesFirstLook(Protocol):
    """A progress that also shows what is known before the rules run."""

    def look_first(self, look: FirstLook) -> None:
        """Told once for each trace, between measuring and checking; raise from it to cancel."""
        ...
