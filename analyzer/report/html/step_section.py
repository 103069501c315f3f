"""What the page says of the step: where it goes, its lanes, the slowest one, and all of them beside each other."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from analyzer.analysis import Analysis, Timeline
from analyzer.page import headline as wording
from analyzer.page import recording
from analyzer.page.findings.groups import unit, words
from analyzer.page.step.waterfall import by_size, slow_steps
from analyzer.page.words import safe
from analyzer.report.drawing.shapes import NARROW, Drawing, cause_class
from analyzer.report.drawing.timeline import timeline
from analyzer.report.drawing.waterfall import MOST_STEPS, steps, waterfall
from analyzer.report.html import tables
from analyzer.report.html.sheet import Sheet
from analyzer.units import duration, share

_NO_STEP = Timeline(step=None, dur_ns=0, lanes=())


@dataclass(frozen=True)
class Part:
    """One line of the legend."""

    kind: str
    name: str
    time: str
    share: str
    meaning: str


@dataclass(frozen=True)
class Twice:
    """A drawing for a wide page, and one for a telephone, where a smaller copy of the wide one could not be read."""

    wide: Drawing
    narrow: Drawing


@dataclass(frozen=True)
class StepSection:
    """The section's places in the template; none of them is filled where the trace cannot be believed."""

    where_head: str
    waterfall: Twice | None
    legend: tuple[Part, ...]
    device_line: str
    timeline_head: str
    timeline: Twice | None
    timeline_table: Sheet
    slowest_head: str
    slowest: Twice | None
    slowest_table: Sheet
    steps: Twice | None
    steps_line: str


def step_section(analysis: Analysis) -> StepSection:
    """The section of an analysis."""
    usable, slowest = analysis.trust.verdict != "unusable", analysis.slowest or _NO_STEP
    bar = usable and bool(by_size(analysis))
    return StepSection(
        where_head=wording.where(analysis),
        waterfall=_twice(waterfall(analysis), waterfall(analysis, NARROW)) if bar else None,
        legend=tuple(_legend(analysis)),
        device_line=_device_line(analysis),
        timeline_head=_timeline_head(analysis),
        timeline=_twice(timeline(analysis), timeline(analysis, None, NARROW)) if usable else None,
        timeline_table=tables.timeline_table(analysis, analysis.timeline),
        slowest_head=words(f"Step {slowest.step}, the slowest: {duration(slowest.dur_ns)}", analysis),
        slowest=_twice(timeline(analysis, slowest), timeline(analysis, slowest, NARROW)) if usable else None,
        slowest_table=tables.timeline_table(analysis, slowest),
        steps=_twice(steps(analysis), steps(analysis, NARROW)) if usable else None,
        steps_line=_steps_line(analysis),
    )


def _twice(wide: Drawing | None, narrow: Drawing | None) -> Twice | None:
    return None if wide is None or narrow is None else Twice(wide, narrow)


def _legend(analysis: Analysis) -> Iterator[Part]:
    for part in by_size(analysis):
        yield Part(cause_class(part.cause), part.label, part.time, share(part.ratio), part.meaning)


def _device_line(analysis: Analysis) -> str:
    devices = analysis.summary.devices
    if len(devices) < 2:
        return ""
    return "Busy on each device: " + ", ".join(
        f"{safe.name(one.device, 30)} {share(one.busy_ratio)}" for one in devices
    )


def _timeline_head(analysis: Analysis) -> str:
    shown = analysis.timeline
    whole = shown.step is None or unit(analysis) == "recording"
    step = "The whole trace" if whole else words(f"Step {shown.step}, the nearest to the median", analysis)
    return f"{step}: {duration(shown.dur_ns)}"


def _steps_line(analysis: Analysis) -> str:
    times = analysis.summary.step_ns
    spread = (
        f"Median {duration(times.median)}, p95 {duration(times.p95)}, {duration(times.min)} to {duration(times.max)}."
    )
    more = (
        f" The first {MOST_STEPS} of {max(analysis.trace.steps.count, len(analysis.steps)):,} steps are drawn."
        if len(analysis.steps) > MOST_STEPS
        else ""
    )
    step = analysis.summary.representative_step
    # A bar that tells of a slow step says no more than that.
    green = "" if step in {row.step for row in slow_steps(analysis)} else "; its bar is green"
    drawn = f" Step {step} is drawn above{green}." if analysis.timeline is not None and step is not None else ""
    left_out = "; ".join(safe.clean(line) for line in recording.excluded(analysis))
    return spread + words(drawn + more, analysis) + (f" {left_out[:1].upper()}{left_out[1:]}." if left_out else "")
