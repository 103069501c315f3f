"""Two sides of a comparison: a bar of causes for each, what each cause gained or lost, and every step as a mark."""

from __future__ import annotations

from analyzer.compare.comparison import CauseChange, Comparison, Side
from analyzer.page.words.vocabulary import CAUSES
from analyzer.report.drawing.shapes import WIDTH, Drawing, cause_class, line, rect, text, width_of
from analyzer.units import duration

_BAR = 34
_LABEL = 22
_ROW = 22
# Columns of the drawing of differences: names, then bars about a middle, with room for a figure at either end.
_MIDDLE = 540
_REACH = 320
_MOST_MARKS = 400


def bars(comparison: Comparison) -> Drawing:
    """A bar of causes per side, both on one scale."""
    sides = (("before", comparison.before), ("after", comparison.after))
    longest = max(comparison.before.mean_ns, comparison.after.mean_ns, 1)
    pieces = []
    for number, (name, side) in enumerate(sides):
        top = number * (_LABEL + _BAR + 10)
        pieces.append(text(0, top + 14, f"{name}: {duration(side.mean_ns)}", "strong"))
        pieces.append(_bar(comparison, name, longest, top + _LABEL))
    told = "; ".join(f"{name} {duration(side.mean_ns)} a step" for name, side in sides)
    return Drawing(2 * (_LABEL + _BAR) + 10, "".join(pieces), f"Where each step goes, {told}.")


def _bar(comparison: Comparison, name: str, longest: int, top: int) -> str:
    pieces, x = [], 0.0
    for row in comparison.waterfall:
        ns = row.before_ns if name == "before" else row.after_ns
        width = max(ns, 0) / longest * WIDTH
        if width <= 0 or x >= WIDTH:
            continue
        drawn = min(max(width - 1.5, min(width, 0.5)), WIDTH - x)
        label = CAUSES[row.cause]
        pieces.append(rect(x, top, drawn, _BAR, cause_class(row.cause), f"{label}: {duration(ns)}"))
        if width_of(label) + 12 < drawn:
            pieces.append(text(x + drawn / 2, top + _BAR / 2 + 4, label, "inside"))
        x += width
    return "".join(pieces)


def changes(rows: list[CauseChange]) -> Drawing:
    """What each cause gained or lost, to the left where the step became shorter by it."""
    largest = max((abs(row.after_ns - row.before_ns) for row in rows), default=0) or 1
    height = _ROW * len(rows) + 8
    pieces = [line(_MIDDLE, 0, _MIDDLE, height, "grid")]
    told = []
    for number, row in enumerate(rows):
        ns = row.after_ns - row.before_ns
        width = abs(ns) / largest * _REACH
        top = number * _ROW + 4
        sign = "+" if ns > 0 else "-" if ns < 0 else ""
        pieces.append(text(0, top + 13, CAUSES[row.cause]))
        pieces.append(
            rect(_MIDDLE if ns > 0 else _MIDDLE - width, top + 2, width, _ROW - 8, "slow" if ns > 0 else "drawn")
        )
        beside = _MIDDLE + width + 8 if ns > 0 else _MIDDLE - width - 8
        pieces.append(text(beside, top + 13, f"{sign}{duration(abs(ns))}", "" if ns > 0 else "end"))
        told.append(f"{CAUSES[row.cause]} {sign}{duration(abs(ns))}")
    return Drawing(height, "".join(pieces), f"Change a step by cause: {', '.join(told)}.")


def marks(comparison: Comparison) -> Drawing | None:
    """Every step as a mark on one scale of time, the medians longer; None where a side has no steps."""
    sides = (("before", comparison.before), ("after", comparison.after))
    if not all(side.times_ns for _, side in sides):
        return None
    low = min(min(side.times_ns) for _, side in sides)
    high = max(max(side.times_ns) for _, side in sides)
    pieces = [_marks(name, side, low, high, number * 40) for number, (name, side) in enumerate(sides)]
    pieces += [text(80, 98, duration(low), "quiet"), text(WIDTH, 98, duration(high), "quiet end")]
    told = "; ".join(
        f"{name} {duration(side.min_ns)} to {duration(side.max_ns)}, median {duration(side.median_ns)}"
        for name, side in sides
    )
    return Drawing(104, "".join(pieces), f"Times of the steps: {told}.")


def _marks(name: str, side: Side, low: int, high: int, top: int) -> str:
    scale = (WIDTH - 84) / max(high - low, 1)
    every = -(-len(side.times_ns) // _MOST_MARKS)
    shown = [rect(80 + (ns - low) * scale, top + 10, 1.5, 20, "used", radius=0) for ns in side.times_ns[::every]]
    middle = rect(80 + (side.median_ns - low) * scale, top + 4, 3, 32, "slow", f"median {duration(side.median_ns)}", 0)
    return text(0, top + 24, name) + "".join(shown) + middle
