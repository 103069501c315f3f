"""What was promised for the findings that vanished or shrank, beside what came: a bar for each promise, a band for the measured."""

from __future__ import annotations

from dataclasses import dataclass

from analyzer.analysis.changes import RuleChange
from analyzer.compare.comparison import Comparison
from analyzer.page.changes import promised as promised_words
from analyzer.page.words import safe
from analyzer.page.words.of_steps import label
from analyzer.report.drawing.shapes import WIDTH, Drawing, line, rect, text, width_of
from analyzer.units import duration

_TOP, _BAR, _FIGURE = 30, 16, 110
_MOST_ROWS = 12


@dataclass(frozen=True)
class _Plan:
    """Where things stand: names beside the bars, or on a page as wide as a telephone above them."""

    names: int
    row: int
    letters: int

    @property
    def above(self) -> int:
        """What a row has above its bar."""
        return self.row - _BAR - 7


_WIDE, _NARROW = _Plan(names=300, row=26, letters=38), _Plan(names=0, row=42, letters=48)


def promises(comparison: Comparison, width: int = WIDTH) -> Drawing | None:
    """The picture; None where no verdict is possible, or nothing that was promised could have come."""
    change = comparison.change
    rows = [row for row in comparison.rules if row.realised_ns is not None and row.predicted_ns > 0][:_MOST_ROWS]
    if change is None or change.kind == "inconclusive" or not rows:
        return None
    median = comparison.before.median_ns
    low, came, high = (-round(ratio * median) for ratio in (change.high_ratio, change.ratio, change.low_ratio))
    plan = _WIDE if width >= WIDTH else _NARROW
    longest = max(high, came, *(row.predicted_ns for row in rows), 1)
    height = _TOP + plan.row * len(rows) + 8

    def place(ns: int) -> float:
        return plan.names + min(max(ns, 0), longest) / longest * (width - plan.names - _FIGURE)

    pieces = [rect(place(low), _TOP - 6, place(high) - place(low), height - _TOP, "band", "95 % interval", 0)]
    for number, row in enumerate(rows):
        pieces += _row(row, _TOP + number * plan.row, place(row.predicted_ns), plan)
    pieces.append(line(plan.names, _TOP - 6, plan.names, height - 6, "grid"))
    pieces.append(line(place(came), _TOP - 8, place(came), height - 6, "came"))
    amount = f"{duration(abs(came))} {'less' if came >= 0 else 'more'}, {duration(low)} to {duration(high)}"
    # The findings beside it are told of the mean.
    said = f"came, at the median: {amount}"
    # Bold letters are wider by a tenth.
    wide = 1.1 * width_of(said)
    pieces.append(text(max(0, min(place(came) - wide / 2, width - wide)), 14, said, "strong"))
    told = ", ".join(f"{safe.name(row.rule, 12)} {promised_words(row.kind, row.predicted_ns)}" for row in rows)
    head = label("Promised a step", comparison.noun)
    told = f"{head}: {told}. Of the {comparison.noun}'s median came {amount} (95 % interval)."
    return Drawing(height, "".join(pieces), told, width)


def _row(row: RuleChange, top: int, end: float, plan: _Plan) -> tuple[str, str, str]:
    """A finding's name, its bar, and what was promised."""
    words = promised_words(row.kind, row.predicted_ns)
    name = safe.middle(f"{safe.name(row.rule, 12)} {safe.name(row.title, 60)}", plan.letters)
    bar = top + plan.above
    return (
        text(0, top + 14, name, "" if plan.names else "halo"),
        rect(plan.names, bar, end - plan.names, _BAR, "promise", words),
        text(end + 8, bar + 11, words, "halo"),
    )
