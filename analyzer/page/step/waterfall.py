"""Where a mean step goes: the bar's parts, in one order everywhere, and the steps that stand out."""

from __future__ import annotations

from dataclasses import dataclass

from analyzer.analysis import Analysis, StepRow
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
    on_device = summary.gpu_busy_ratio is not None
    return tuple(
        Part(
            part.cause,
            CAUSES[part.cause],
            part.ns / max(summary.used_steps, 1),
            part.ratio,
            meaning(part.cause, on_device),
        )
        for part in summary.waterfall
        if part.ns > 0
    )


def by_size(analysis: Analysis) -> tuple[Part, ...]:
    """The same, the largest first; the order of the legend. What nobody would see in the bar, as 1 ns, has no row."""
    found = sorted(parts(analysis), key=lambda part: -part.ns)
    return tuple(part for part in found if part.ratio >= _LEAST_RATIO)


def slow_steps(analysis: Analysis) -> list[StepRow]:
    """Used steps that took much longer than the median."""
    limit = analysis.summary.step_ns.median * SLOW_RATIO
    return [row for row in analysis.steps if row.used and row.dur_ns > limit]
