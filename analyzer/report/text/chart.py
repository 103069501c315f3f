"""Where each step goes: the waterfall as bars, and the steps themselves."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from analyzer.analysis import Analysis
from analyzer.cause_names import Cause
from analyzer.page.step.waterfall import Part, by_size, parts, slow_steps
from analyzer.page.words import safe
from analyzer.page.words.vocabulary import CAUSES
from analyzer.report.style import Style
from analyzer.report.text import causes
from analyzer.report.text.heading import heading
from analyzer.units import count, duration, share

_EIGHTHS = " ▏▎▍▌▋▊▉█"
_HEIGHTS = "▁▂▃▄▅▆▇█"
_BAR = 20
_MOST_STEPS = 48
# One machine's.
_MOST_DEVICES = 16


def bar(ratio: float, width: int) -> str:
    """A bar of `ratio` of `width`, to an eighth of a column; never empty for more than nothing."""
    eighths = round(min(max(ratio, 0.0), 1.0) * width * 8)
    if ratio > 0:
        eighths = max(eighths, 1)
    full, part = divmod(eighths, 8)
    return _EIGHTHS[8] * full + (_EIGHTHS[part] if part else "")


def sparkline(values: Sequence[float]) -> str:
    """One character per value, its height the value over the largest."""
    top = max(values, default=0.0)
    if top <= 0:
        return _HEIGHTS[0] * len(values)
    return "".join(_HEIGHTS[min(int(max(value, 0.0) / top * 8), 7)] for value in values)


def head_lines(analysis: Analysis, style: Style) -> Iterator[str]:
    """What is divided, and a bar of it with its parts."""
    summary = analysis.summary
    steps = "the whole trace" if analysis.trace.steps.source == "whole-trace" else f"each {analysis.trace.steps.noun}"
    mean = duration(summary.step_ns.mean)
    source = analysis.trace.steps.source
    how = f" inferred from {safe.name(source.partition(':')[2], 40)}" if source.startswith("inferred:") else ""
    over = count(summary.used_steps, f"used {analysis.trace.steps.noun}") + how
    mean_of = f"mean of {over}; " if source != "whole-trace" else ""
    yield from heading(f"Where {steps} goes", f"{mean_of}parts add up to {mean}", style)
    yield ""
    yield stacked_line(analysis, style)


def stacked_line(analysis: Analysis, style: Style) -> str:
    """The bar of a mean step with its parts."""
    return "  " + stacked([(part.cause, part.ratio) for part in parts(analysis)], style.width - 4, style)


def lines(analysis: Analysis, style: Style) -> Iterator[str]:
    """A bar of the mean step with its parts, then a row per cause; the rows add up to the step."""
    yield from head_lines(analysis, style)
    yield ""
    rows = by_size(analysis)
    for part in rows:
        yield _row(part, rows[0].ratio, style)
    yield from _device(analysis, style)


def _row(part: Part, largest: float, style: Style) -> str:
    figures = f"{part.time:>8} {share(part.ratio):>7}"
    drawn = style.paint(safe.pad(bar(part.ratio / largest, _BAR), _BAR), causes.role(part.cause))
    row = f"  {part.label:<14}{figures}  {drawn}"
    room = style.width - 2 - 14 - 16 - 2 - _BAR - 2
    return f"{row}  {style.paint(safe.pad(part.meaning, room).rstrip(), 'dim')}" if room >= 24 else row


def stacked(shown: Sequence[tuple[Cause, float]], room: int, style: Style) -> str:
    """Every cause as wide as its share of `room` columns, in one bar; its name inside where it fits."""
    pieces: list[str] = []
    start = 0
    passed = 0.0
    for cause, ratio in shown:
        passed += ratio
        end = min(round(passed * room), room)
        fill = causes.FILLS.get(cause, causes.OTHER_FILL)
        pieces.append(style.paint(_segment(CAUSES[cause], fill, end - start), causes.role(cause)))
        start = end
    return "".join(pieces)


def _segment(label: str, fill: str, width: int) -> str:
    """A piece of the stacked bar with its name inside where there is room."""
    named = f" {label} "
    if width < len(named) + 2:
        return fill * width
    left = (width - len(named)) // 2
    return fill * left + named + fill * (width - len(named) - left)


def _device(analysis: Analysis, style: Style) -> Iterator[str]:
    summary = analysis.summary
    if summary.gpu_busy_ratio is None:
        return
    lead = summary.launch_lead_ns_median
    queued = f", median launch lead {duration(lead)} (how far the host runs ahead)" if lead is not None else ""
    yield ""
    figures = f"GPU busy {share(summary.gpu_busy_ratio)}, computing {share(summary.compute_ratio)}{queued}"
    yield from (f"  {text}" for text in safe.wrap(figures, style.width - 2))
    if len(summary.devices) > 1:
        named = summary.devices[:_MOST_DEVICES]
        others = ", ".join(f"{safe.name(one.device, 30)} {share(one.busy_ratio)}" for one in named)
        others += f" and {analysis.trace.device.count - len(named):,} more" if len(summary.devices) > len(named) else ""
        yield from (f"  {text}" for text in safe.wrap(f"busy on each device: {others}", style.width - 2))


def step_lines(analysis: Analysis, style: Style) -> Iterator[str]:
    """Height per step, the slow ones and those left out by number."""
    rows = analysis.steps
    if len(rows) < 2:
        return
    times = analysis.summary.step_ns
    shown = rows[:_MOST_STEPS]
    left = max(analysis.trace.steps.count, len(rows)) - len(shown)
    more = f" and {left:,} more" if left else ""
    drawn = sparkline([row.dur_ns for row in shown])
    first, last = shown[0].step, shown[-1].step
    spread = f"p95 {duration(times.p95)}, {duration(times.min)} to {duration(times.max)}"
    yield f"{analysis.trace.steps.noun.capitalize()}s {first}-{last}  {style.paint(drawn, 'useful')}{more}"
    yield f"  median {duration(times.median)}, {spread}"
    slow = slow_steps(analysis)
    if slow:
        named = ", ".join(f"{row.step} ({duration(row.dur_ns)})" for row in slow[:6])
        yield style.paint(f"  slow: {named}{' …' if len(slow) > 6 else ''}", "waste")
    # Trust tells those that were recorded wrongly, with what to do about it.
    noun, told = analysis.trace.steps.noun, " ".join(reason.message for reason in analysis.trust.reasons)
    others = [one for one in analysis.trace.steps.excluded if f"{noun} {one.step} is left out" not in told]
    for out in others[:3]:
        yield style.paint(f"  left out: {noun} {out.step}, {safe.name(out.reason)}", "dim")
    unnamed = max(len(others) - 3, 0) + analysis.trace.steps.more_excluded
    if unnamed:
        yield style.paint(f"  left out: {unnamed} more", "dim")
