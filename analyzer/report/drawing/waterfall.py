"""Where the step goes as one bar, and the length of every step."""

from __future__ import annotations

from collections.abc import Sequence

from analyzer.analysis import Analysis, StepRow
from analyzer.page.findings.groups import unit
from analyzer.page.step.waterfall import by_size, parts, slow_steps
from analyzer.report.drawing.shapes import WIDTH, Drawing, cause_class, line, rect, text, width_of
from analyzer.units import count, duration, share

# A bar of few steps is no wider; then each has its time above it.
_WIDEST = 84
_BAR = 34
_STEPS = 64
MOST_STEPS = 240
# One that is left out and so many times as long as the longest used one would make the others a line: it is cut.
_CUT_FROM = 2
# Words stand so far above their bar.
_LIFT = 6


def waterfall(analysis: Analysis, across: int = WIDTH) -> Drawing:
    """One bar as long as the mean step, a piece per cause; `across` is how wide the drawing is."""
    pieces: list[str] = []
    passed = 0.0
    for part in parts(analysis):
        x, width = passed * across, part.ratio * across
        passed += part.ratio
        # A hair of background tells neighbours apart, also where colours do not.
        drawn = max(width - 1.5, min(width, 0.5))
        named = f"{part.label}: {part.time}, {share(part.ratio)}"
        pieces.append(rect(x, 0, drawn, _BAR, cause_class(part.cause), named))
        for label in (f"{part.label} {part.time}", part.label):
            if width_of(label) + 12 < width:
                pieces.append(text(x + drawn / 2, _BAR / 2 + 4, label, "inside"))
                break
    listed = ", ".join(f"{part.label} {part.time}" for part in by_size(analysis))
    told = f"A {unit(analysis)} of {duration(analysis.summary.step_ns.mean)}: {listed}."
    return Drawing(_BAR, "".join(pieces), told, across)


def steps(analysis: Analysis, across: int = WIDTH) -> Drawing | None:
    """A bar per step, the slow ones named; None for a single step."""
    rows = analysis.steps[:MOST_STEPS]
    if len(rows) < 2:
        return None
    top, noun = _top(rows), analysis.trace.steps.noun
    each = min(across / len(rows), _WIDEST)
    slow_ones = {row.step for row in slow_steps(analysis)}
    pieces = [line(0, 20 + _STEPS, across, 20 + _STEPS, "grid")]
    heights = [min(max(row.dur_ns / top * _STEPS, 1), _STEPS) for row in rows]
    labels: dict[int, str] = {}
    for number, (row, height) in enumerate(zip(rows, heights, strict=True)):
        slow = row.used and row.step in slow_ones
        kind = "out" if not row.used else "slow" if slow else "used"
        kind = "drawn" if row.step == analysis.summary.representative_step and not slow else kind
        title = f"{noun} {row.step}: {duration(row.dur_ns)}" + (f", left out: {row.reason}" if row.reason else "")
        pieces.append(rect(number * each + 1, 20 + _STEPS - height, max(each - 2, 0.8), height, kind, title))
        if row.dur_ns > top:
            labels[number] = f"{duration(row.dur_ns)}, cut"
        elif slow:
            labels[number] = f"{row.step}: {duration(row.dur_ns)}"
        elif each == _WIDEST:
            pieces.append(
                text((number + 0.5) * each, 20 - _LIFT + _STEPS - height, duration(row.dur_ns), "quiet middle")
            )
    pieces += _labels(labels, heights, each, across)
    pieces += _ends(noun, rows[0].step, rows[-1].step, each * len(rows))
    return Drawing(_STEPS + 40, "".join(pieces), _sentence(analysis), across)


def _top(rows: Sequence[StepRow]) -> int:
    """The length whose bar is as high as the drawing."""
    longest, used = max(row.dur_ns for row in rows), max((row.dur_ns for row in rows if row.used), default=0)
    return (used if used and longest > _CUT_FROM * used else longest) or 1


def _labels(labels: dict[int, str], heights: Sequence[float], each: float, across: int) -> list[str]:
    """The words above bars, the highest first; without those that another one or a higher bar would lie over."""
    placed: list[tuple[float, float]] = []
    pieces: list[str] = []
    for number in sorted(labels, key=lambda number: (-heights[number], number)):
        half = width_of(labels[number]) / 2
        middle = min(max((number + 0.5) * each, half), across - half)
        left, right = middle - half, middle + half
        below = heights[max(int(left / each), 0) : int(right / each) + 1]
        if max(below) > heights[number] + _LIFT or any(left < end + 4 and begin < right + 4 for begin, end in placed):
            continue
        placed.append((left, right))
        pieces.append(text(middle, 20 - _LIFT + _STEPS - heights[number], labels[number], "middle strong"))
    return pieces


def _ends(noun: str, first: int, last: int, width: float) -> Sequence[str]:
    return [text(0, _STEPS + 36, f"{noun} {first}", "quiet"), text(width, _STEPS + 36, f"{noun} {last}", "quiet end")]


def _sentence(analysis: Analysis) -> str:
    times, noun = analysis.summary.step_ns, analysis.trace.steps.noun
    slow = slow_steps(analysis)
    named = f" Slow: {', '.join(f'{noun} {row.step} with {duration(row.dur_ns)}' for row in slow[:6])}." if slow else ""
    spread = f"{duration(times.min)} to {duration(times.max)}, median {duration(times.median)}"
    return f"{count(max(analysis.trace.steps.count, len(analysis.steps)), noun)}, used ones from {spread}.{named}"
