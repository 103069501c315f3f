"""What was promised for the findings that vanished or shrank, beside what came: a bar for each promise, a band for the measured."""

from __future__ import annotations

from analyzer.compare.comparison import Comparison
from analyzer.page.changes import promised as promised_words
from analyzer.page.words import safe
from analyzer.report.drawing.shapes import WIDTH, Drawing, line, rect, text
from analyzer.units import duration

_ROW, _TOP, _NAMES = 26, 30, 300
_REACH = WIDTH - _NAMES - 110
_MOST_ROWS = 12


def promises(comparison: Comparison) -> Drawing | None:
    """The picture; None where no verdict is possible, or nothing that was promised could have come."""
    change = comparison.change
    rows = [row for row in comparison.rules if row.realised_ns is not None and row.predicted_ns > 0][:_MOST_ROWS]
    if change is None or change.kind == "inconclusive" or not rows:
        return None
    median = comparison.before.median_ns
    low, came, high = (-round(ratio * median) for ratio in (change.high_ratio, change.ratio, change.low_ratio))
    longest = max(high, came, *(row.predicted_ns for row in rows), 1)
    height = _TOP + _ROW * len(rows) + 8

    def place(ns: int) -> float:
        return _NAMES + min(max(ns, 0), longest) / longest * _REACH

    pieces = [rect(place(low), _TOP - 6, place(high) - place(low), height - _TOP, "band", "95 % interval", 0)]
    for number, row in enumerate(rows):
        top = _TOP + number * _ROW
        words = promised_words(row.kind, row.predicted_ns)
        pieces.append(text(0, top + 14, safe.middle(f"{safe.name(row.rule, 12)} {safe.name(row.title, 60)}", 38)))
        pieces.append(rect(_NAMES, top + 3, place(row.predicted_ns) - _NAMES, _ROW - 10, "promise", words))
        pieces.append(text(place(row.predicted_ns) + 8, top + 14, words, "halo"))
    pieces.append(line(_NAMES, _TOP - 6, _NAMES, height - 6, "grid"))
    pieces.append(line(place(came), _TOP - 8, place(came), height - 6, "came"))
    said = f"came: {duration(abs(came))} {'less' if came >= 0 else 'more'}, {duration(low)} to {duration(high)}"
    pieces.append(text(place(came), 14, said, "strong end" if place(came) > WIDTH / 2 else "strong"))
    told = ", ".join(f"{safe.name(row.rule, 12)} {promised_words(row.kind, row.predicted_ns)}" for row in rows)
    return Drawing(height, "".join(pieces), f"Promised a step: {told}. Of the step's median {said} (95 % interval).")
