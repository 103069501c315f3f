"""The numbers behind a finding, ready for the template."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from analyzer.analysis import Bars, Evidence, Series, Table
from analyzer.page.words import safe
from analyzer.page.words.values import value
from analyzer.report.drawing.shapes import rect
from analyzer.report.html.sheet import Head, Sheet
from analyzer.units import count, duration

_MOST_BARS = 24
_MOST_ROWS = 100
_MOST_VALUES = 160


@dataclass(frozen=True)
class Bar:
    """A labelled bar, its length in percent."""

    label: str
    value: str
    percent: str


@dataclass(frozen=True)
class Piece:
    """One piece of evidence: bars, a table, or a line of text with a small chart."""

    title: str
    bars: tuple[Bar, ...] = ()
    table: Sheet | None = None
    text: str = ""
    spark: Markup | None = None


def pieces(evidence: Sequence[Evidence]) -> Iterator[Piece]:
    """What there is to show; empty pieces are left out."""
    for one in evidence:
        title = heading(one.title)
        if isinstance(one, Bars) and one.bars:
            yield Piece(title, bars=_bars(one))
        elif isinstance(one, Series) and one.values:
            yield _series(one, title)
        elif isinstance(one, Table) and one.columns:
            yield Piece(title, table=_table(one, title))
        elif not isinstance(one, Bars | Series | Table) and one.spans:
            longest = max(one.spans, key=lambda span: span[1] - span[0])
            where = f"from {duration(longest[0])} on" if longest[0] else "at its beginning"
            where = where if one.pieces == 1 else f"the longest {duration(longest[1] - longest[0])} {where}"
            yield Piece(title, text=f"{duration(one.total_ns)} in {count(one.pieces, 'piece')}, {where}.")


def heading(title: str) -> str:
    """A title with a capital, unless it begins with an identifier."""
    text = safe.name(title, 100)
    first = text.partition(" ")[0]
    return text[:1].upper() + text[1:] if first.isalpha() and first.islower() else text


def percent(ratio: float) -> str:
    """A ratio as a length of 0 to 100, never nothing for more than nothing."""
    shown = min(max(ratio, 0.0), 1.0) * 100
    return f"{max(shown, 0.5):.1f}" if ratio > 0 else "0"


def _bars(one: Bars) -> tuple[Bar, ...]:
    shown = one.bars[:_MOST_BARS]
    top = 1.0 if one.unit == "ratio" else max((item.value for item in shown), default=0.0)
    return tuple(
        Bar(safe.name(item.label, 60), value(item.value, one.unit), percent(item.value / top if top > 0 else 0.0))
        for item in shown
    )


def _series(one: Series, title: str) -> Piece:
    lowest, highest = value(min(one.values), one.unit), value(max(one.values), one.unit)
    spread = lowest if lowest == highest else f"{lowest} to {highest}"
    shown = one.values[:_MOST_VALUES]
    top = max(shown)
    each = 160 / len(shown)
    bars = "".join(
        rect(number * each, 24 - max(item / top, 0.0) * 24, each * 0.85, max(item / top, 0.0) * 24, "value", radius=0)
        for number, item in enumerate(shown)
        if top > 0
    )
    spark = Markup(f'<svg class="spark" viewBox="0 0 160 24" aria-hidden="true">{bars}</svg>')
    return Piece(title, text=f"{spread} over {count(len(one.values), 'value')}", spark=spark)


def _table(one: Table, title: str) -> Sheet:
    rows = [
        [value(cell, column.unit) for cell, column in zip(row, one.columns, strict=False)]
        for row in one.rows[:_MOST_ROWS]
    ]
    heads = tuple(Head(heading(column.title), column.unit != "text") for column in one.columns)
    left = len(one.rows) - len(rows)
    return Sheet(title, heads, rows, f"{left:,} more rows are in the data of this report." if left > 0 else "")
