"""Where a mean step goes: the bar's parts, in one order everywhere, and the steps that stand out."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from analyzer.analysis import Analysis, CauseTime, StepRow
from analyzer.cause_names import Cause
from analyzer.page.words.vocabulary import CAUSES, meaning
from analyzer.units import duration

# A used step this much longer than the median is called slow.
SLOW_RATIO = 1.1
_LEAST_RATIO = 1e-4


@dataclass(frozen=True)
class Part:
    """What one cause owns of a mean step.

    Args:
        cause: For its colour or fill.
        label: What it is called.
        ns: Nanoseconds of a mean step.
        ratio: Share of the step, 0..1.
        meaning: What its time is, in a few words.
    """

    cause: Cause
    label: str
    ns: float
    ratio: float
    meaning: str

    @property
    def time(self) -> str:
        """`41 ms`."""
        return duration(self.ns)


def parts(analysis: Analysis) -> tuple[Part, ...]:
    """The causes that own any time, work of the device first; the order of the bar. They add up to the mean step."""
    summary = analysis.summary
    return parts_of(summary.waterfall, summary.used_steps, on_device=summary.gpu_busy_ratio is not None)


def parts_of(waterfall: Iterable[CauseTime], used_steps: int, *, on_device: bool) -> tuple[Part, ...]:
    """The same of a waterfall alone.

    Args:
        waterfall: What the causes own of all used steps.
        used_steps: How many those are.
        on_device: Whether a device was recorded.
    """
    return tuple(
        Part(
            part.cause,
            CAUSES[part.cause],
            part.ns / max(used_steps, 1),
            part.ratio,
            meaning(part.cause, on_device),
        )
        for part in waterfall
        if part.ns > 0
    )


def by_size(analysis: Analysis) -> tuple[Part, ...]:
    """The same, the largest first; the order of the legend. What nobody would see in the bar, as 1 ns, has no row."""
    return largest_first(parts(analysis))


def largest_first(parts: Iterable[Part]) -> tuple[Part, ...]:
    """Those that anybody would see, the largest first."""
    return tuple(part for part in sorted(parts, key=lambda part: -part.ns) if part.ratio >= _LEAST_RATIO)


def slow_steps(analysis: Analysis) -> list[StepRow]:
    """Used steps that took much longer than the median."""
    limit = analysis.summary.step_ns.median * SLOW_RATIO
    return [row for row in analysis.steps if row.used and row.dur_ns > limit]
