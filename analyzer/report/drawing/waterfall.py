"""Where the step goes as one bar, and the length of every step."""

from __future__ import annotations

from collections.abc import Sequence

from analyzer.analysis import Analysis, CauseTime
from analyzer.report.drawing.shapes import WIDTH, Drawing, cause_class, line, rect, text, width_of
from analyzer.report.text import causes
from analyzer.units import count, duration, share

_BAR = 34
_STEPS = 64
_SLOW = 1.1
MOST_STEPS = 240


def shown_parts(analysis: Analysis) -> list[CauseTime]:
    """The causes that own any time, in the order of the waterfall."""
    return [part for part in analysis.summary.waterfall if part.ns > 0]


def per_step(part: CauseTime, analysis: Analysis) -> str:
    """A cause's time in a mean step."""
    return duration(part.ns / max(analysis.summary.used_steps, 1))


def waterfall(analysis: Analysis) -> Drawing:
    """One bar as long as the mean step, a piece per cause."""
    pieces: list[str] = []
    passed = 0.0
    for part in shown_parts(analysis):
        x, width = passed * WIDTH, part.ratio * WIDTH
        passed += part.ratio
        name = causes.label(part.cause)
        time = per_step(part, analysis)
        # A hair of background tells neighbours apart, also where colours do not.
        drawn = max(width - 1.5, min(width, 0.5))
        pieces.append(rect(x, 0, drawn, _BAR, cause_class(part.cause), f"{name}: {time}, {share(part.ratio)}"))
        for label in (f"{name} {time}", name):
            if width_of(label) + 12 < width:
                pieces.append(text(x + drawn / 2, _BAR / 2 + 4, label, "inside"))
                break
    named = sorted(shown_parts(analysis), key=lambda part: -part.ns)
    listed = ", ".join(f"{causes.label(part.cause)} {per_step(part, analysis)}" for part in named)
    return Drawing(_BAR, "".join(pieces), f"A step of {duration(analysis.summary.step_ns.mean)}: {listed}.")


def steps(analysis: Analysis) -> Drawing | None:
    """A bar per step, the slow ones named; None for a single step."""
    rows = analysis.steps[:MOST_STEPS]
    if len(rows) < 2:
        return None
    top = max(row.dur_ns for row in rows) or 1
    each = WIDTH / len(rows)
    limit = analysis.summary.step_ns.median * _SLOW
    pieces = [line(0, 20 + _STEPS, WIDTH, 20 + _STEPS, "grid")]
    free = 0.0
    for number, row in enumerate(rows):
        height = max(row.dur_ns / top * _STEPS, 1)
        slow = row.used and row.dur_ns > limit
        kind = "out" if not row.used else "slow" if slow else "used"
        kind = "drawn" if row.step == analysis.summary.representative_step and not slow else kind
        title = f"step {row.step}: {duration(row.dur_ns)}" + (f", left out: {row.reason}" if row.reason else "")
        pieces.append(rect(number * each + 1, 20 + _STEPS - height, max(each - 2, 0.8), height, kind, title))
        label = f"{row.step}: {duration(row.dur_ns)}"
        middle = min(max((number + 0.5) * each, width_of(label) / 2), WIDTH - width_of(label) / 2)
        if slow and middle - width_of(label) / 2 >= free:
            pieces.append(text(middle, 14 + _STEPS - height, label, "middle strong"))
            free = middle + width_of(label) / 2 + 4
    pieces += _ends(rows[0].step, rows[-1].step)
    return Drawing(_STEPS + 40, "".join(pieces), _sentence(analysis))


def _ends(first: int, last: int) -> Sequence[str]:
    return [text(0, _STEPS + 36, f"step {first}", "quiet"), text(WIDTH, _STEPS + 36, f"step {last}", "quiet end")]


def _sentence(analysis: Analysis) -> str:
    times = analysis.summary.step_ns
    slow = [row for row in analysis.steps if row.used and row.dur_ns > times.median * _SLOW]
    named = f" Slow: {', '.join(f'step {row.step} with {duration(row.dur_ns)}' for row in slow[:6])}." if slow else ""
    spread = f"{duration(times.min)} to {duration(times.max)}, median {duration(times.median)}"
    return f"{count(max(analysis.trace.steps.count, len(analysis.steps)), 'step')}, used ones from {spread}.{named}"
