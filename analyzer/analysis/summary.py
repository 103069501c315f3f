"""The headline figures: the verdict, the step and its waterfall, the steps one by one, the ranks."""

from __future__ import annotations

from typing import Literal

from analyzer.analysis.base import Document, FigureName
from analyzer.cause_names import Cause

BoundBy = Literal[
    "input",
    "sync",
    "launch",
    "queue",
    "python",
    "communication",
    "copy",
    "allocator",
    "compile",
    "compute",
    "mixed",
    "unknown",
]


class Verdict(Document, frozen=True, kw_only=True):
    """What the run is bound by. `ratio` is that cause's share of the window."""

    bound_by: BoundBy
    ratio: float
    text: str


class StepTimes(Document, frozen=True, kw_only=True):
    """Wall time of the used steps, nanoseconds."""

    mean: int
    median: int
    p95: int
    min: int
    max: int

    def longer_ns(self, unprofiled_ns: int | None) -> int:
        """By how much the median is longer than that of steps without the profiler; 0 where none was timed without it."""
        return 0 if unprofiled_ns is None else max(0, self.median - unprofiled_ns)


class CauseTime(Document, frozen=True, kw_only=True):
    """What one cause owns of all used steps together: `ns`, and its share of `window_ns`."""

    cause: Cause
    ns: int
    ratio: float


class DeviceWaterfall(Document, frozen=True, kw_only=True):
    """The waterfall of one device of the process."""

    device: str
    busy_ratio: float
    waterfall: tuple[CauseTime, ...]


class Counts(Document, frozen=True, kw_only=True):
    """Findings by severity."""

    high: int
    medium: int
    low: int
    info: int


class Summary(Document, frozen=True, kw_only=True):
    """The headline figures. The waterfall's `ns` add up to `window_ns` exactly; per step is `ns` / `used_steps`.

    `reachable_step_ns` is what the findings with a card leave of the mean step, time that they share counted once: at least that
    much is left where `reachable_kind` is `bound`, about that much where it is `estimate`. `expected_step_ns` is what is left where
    what usually comes true does; None where that is the same.
    """

    verdict: Verdict
    step_ns: StepTimes
    unprofiled_step_ns: int | None
    reachable_step_ns: int
    reachable_kind: FigureName = "bound"
    expected_step_ns: int | None = None
    window_ns: int
    used_steps: int
    gpu_busy_ratio: float | None
    compute_ratio: float
    launch_lead_ns_median: int | None
    representative_step: int | None
    waterfall: tuple[CauseTime, ...]
    devices: tuple[DeviceWaterfall, ...]
    counts: Counts

    @property
    def likely_step_ns(self) -> int:
        """What is left of the mean step where what usually comes true does."""
        return self.reachable_step_ns if self.expected_step_ns is None else self.expected_step_ns


class StepRow(Document, frozen=True, kw_only=True):
    """One step: its wall time and what each cause owns of it (adds up to `dur_ns`)."""

    step: int
    start_ns: int
    dur_ns: int
    used: bool
    reason: str | None
    causes: tuple[CauseTime, ...]


class RankRow(Document, frozen=True, kw_only=True):
    """One rank of the job: its step and what binds it.

    `in_collectives_ns` is its mean time a step inside collectives over the steps all ranks have; `late`: the others wait for it.
    """

    rank: int
    name: str
    step_ns: int
    bound_by: BoundBy
    verdict: str
    in_collectives_ns: int | None
    late: bool
