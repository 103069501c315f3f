"""Two sides of a comparison: a bar of causes for each, what each cause gained or lost, and every step as a mark."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from analyzer.cause_names import Cause
from analyzer.compare.comparison import CauseChange, Comparison, Side
from analyzer.page.words.of_steps import Noun, label
from analyzer.page.words.vocabulary import CAUSES
from analyzer.report.drawing.shapes import WIDTH, Drawing, area, cause_class, line, rect, text, width_of
from analyzer.units import duration

_BAR = 34
_LABEL = 22
# Between the bars: room for the ribbons, which show what became wider or narrower.
_RIBBON = 30
_ROW = 22
# Of the drawing of differences: names, then bars about a middle, with room for a figure at either end.
_NAMES = 100
_SWATCH = 10
_FIGURE = 70
# A cause that changed by less of the longer step moved too little to be seen: its ribbon stays pale.
_MOVED_RATIO = 0.01
_MOST_MARKS = 400


@dataclass(frozen=True)
class _Segment:
    """A cause's piece of a side's bar, in pixels."""

    x: float
    width: float
    ns: int


def bars(comparison: Comparison, width: int = WIDTH) -> Drawing:
    """A bar of causes per side, both on one scale, and a ribbon from each cause to itself."""
    sides = (("before", comparison.before), ("after", comparison.after))
    longest = max(comparison.before.mean_ns, comparison.after.mean_ns, 1)
    before = _segments([(row.cause, row.before_ns) for row in comparison.waterfall], longest, width)
    after = _segments([(row.cause, row.after_ns) for row in comparison.waterfall], longest, width)
    below = _LABEL + _BAR + _RIBBON
    pieces = [text(0, 14, f"before: {duration(comparison.before.mean_ns)}", "strong")]
    pieces += [_ribbon(cause, before[cause], after[cause], longest) for cause in before]
    pieces += [_piece(cause, one, _LABEL, width) for cause, one in before.items()]
    pieces += [_piece(cause, one, below, width) for cause, one in after.items()]
    pieces.append(text(0, below + _BAR + 17, f"after: {duration(comparison.after.mean_ns)}", "strong"))
    told = "; ".join(f"{name} {duration(side.mean_ns)} a step" for name, side in sides)
    said = label(f"Where each step goes, {told}.", comparison.noun)
    return Drawing(below + _BAR + _LABEL, "".join(pieces), said, width)


def _segments(parts: Sequence[tuple[Cause, int]], longest: int, width: int) -> dict[Cause, _Segment]:
    found, x = {}, 0.0
    for cause, ns in parts:
        wide = min(max(ns, 0) / longest * width, width - x)
        found[cause] = _Segment(x, wide, ns)
        x += wide
    return found


def _piece(cause: Cause, one: _Segment, top: int, width: int) -> str:
    if one.width <= 0 or one.x >= width:
        return ""
    drawn = min(max(one.width - 1.5, min(one.width, 0.5)), width - one.x)
    label = CAUSES[cause]
    inside = width_of(label) + 12 < drawn
    named = text(one.x + drawn / 2, top + _BAR / 2 + 4, label, "inside") if inside else ""
    return rect(one.x, top, drawn, _BAR, cause_class(cause), f"{label}: {duration(one.ns)}") + named


def _ribbon(cause: Cause, before: _Segment, after: _Segment, longest: int) -> str:
    """From the cause's place before to its place after; to a point where it is gone."""
    if max(before.width, after.width) < 1:
        return ""
    moved = " moved" if abs(after.ns - before.ns) >= _MOVED_RATIO * longest else ""
    top, bottom = _LABEL + _BAR, _LABEL + _BAR + _RIBBON
    corners = (
        (before.x, top),
        (before.x + before.width, top),
        (after.x + after.width, bottom),
        (after.x, bottom),
    )
    return area(corners, f"ribbon{moved} {cause_class(cause)}")


def changes(rows: list[CauseChange], width: int = WIDTH, noun: Noun = "step") -> Drawing:
    """What each cause gained or lost, to the left where the step became shorter by it; a sample of its colour at its name."""
    reach = (width - _NAMES) / 2 - _FIGURE
    middle = _NAMES + _FIGURE + reach
    largest = max((abs(row.after_ns - row.before_ns) for row in rows), default=0) or 1
    height = _ROW * len(rows) + 8
    pieces = [line(middle, 0, middle, height, "grid")]
    told = []
    for number, row in enumerate(rows):
        ns = row.after_ns - row.before_ns
        long = abs(ns) / largest * reach
        top = number * _ROW + 4
        sign = "+" if ns > 0 else "-" if ns < 0 else ""
        pieces.append(rect(0, top + 4, _SWATCH, _SWATCH, cause_class(row.cause)))
        pieces.append(text(_SWATCH + 6, top + 13, CAUSES[row.cause]))
        pieces.append(rect(middle if ns > 0 else middle - long, top + 2, long, _ROW - 8, "slow" if ns > 0 else "drawn"))
        beside = middle + long + 8 if ns > 0 else middle - long - 8
        pieces.append(text(beside, top + 13, f"{sign}{duration(abs(ns))}", "" if ns > 0 else "end"))
        told.append(f"{CAUSES[row.cause]} {sign}{duration(abs(ns))}")
    said = f"{label('Change a step', noun)} by cause: {', '.join(told)}."
    return Drawing(height, "".join(pieces), said, width)


def marks(comparison: Comparison, width: int = WIDTH) -> Drawing | None:
    """Every step as a mark on one scale of time, the medians longer; None where a side has no steps."""
    sides = (("before", comparison.before), ("after", comparison.after))
    if not all(side.times_ns for _, side in sides):
        return None
    low = min(min(side.times_ns) for _, side in sides)
    high = max(max(side.times_ns) for _, side in sides)
    pieces = [_marks(name, side, low, high, number * 40, width) for number, (name, side) in enumerate(sides)]
    pieces += [text(80, 98, duration(low), "quiet"), text(width, 98, duration(high), "quiet end")]
    told = "; ".join(
        f"{name} {duration(side.min_ns)} to {duration(side.max_ns)}, median {duration(side.median_ns)}"
        for name, side in sides
    )
    return Drawing(104, "".join(pieces), f"Times of the {comparison.noun}s: {told}.", width)


def _marks(name: str, side: Side, low: int, high: int, top: int, width: int) -> str:
    scale = (width - 84) / max(high - low, 1)
    every = -(-len(side.times_ns) // _MOST_MARKS)
    shown = [rect(80 + (ns - low) * scale, top + 10, 1.5, 20, "used", radius=0) for ns in side.times_ns[::every]]
    middle = rect(80 + (side.median_ns - low) * scale, top + 4, 3, 32, "slow", f"median {duration(side.median_ns)}", 0)
    return text(0, top + 24, name) + "".join(shown) + middle
