"""The numbers behind a finding: bars, series, small tables, pieces of the timeline."""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.analysis import (
    Bars,
    Evidence,
    Intervals,
    Series,
    Table,
)
from analyzer.page.words import safe
from analyzer.page.words.values import value
from analyzer.report.style import Style
from analyzer.report.text.chart import bar, sparkline
from analyzer.units import count, duration

_MOST_ROWS = 6
_MOST_VALUES = 64
_BAR = 20
# Before each row of a table, and the least of a name that still says something.
_INDENT, _SHORTEST = 4, 12


def lines(one: Evidence, style: Style) -> Iterator[str]:
    """The piece of evidence, indented under its finding."""
    if isinstance(one, Bars):
        yield from _bars(one, style)
    elif isinstance(one, Series):
        yield from _series(one, style)
    elif isinstance(one, Table):
        yield from _table(one, style)
    else:
        yield from _intervals(one, style)


def _heading(title: str) -> str:
    return f"  {safe.name(title, 80)}"


def _bars(one: Bars, style: Style) -> Iterator[str]:
    if not one.bars:
        return
    yield _heading(one.title)
    shown = one.bars[:_MOST_ROWS]
    labels = [safe.name(item.label, 48) for item in shown]
    room = max(safe.columns(label) for label in labels)
    top = 1.0 if one.unit == "ratio" else max((item.value for item in shown), default=0.0)
    for label, item in zip(labels, shown, strict=True):
        drawn = style.paint(bar(item.value / top if top > 0 else 0.0, _BAR), "useful")
        yield f"    {safe.pad(label, room)}  {value(item.value, one.unit):>9}  {drawn}"
    yield from _left_out(len(one.bars) - len(shown))


def _series(one: Series, style: Style) -> Iterator[str]:
    if not one.values:
        return
    shown = one.values[:_MOST_VALUES]
    lowest, highest = value(min(one.values), one.unit), value(max(one.values), one.unit)
    spread = lowest if lowest == highest else f"{lowest} to {highest}"
    drawn = style.paint(sparkline(shown), "useful")
    yield f"{_heading(one.title)}  {spread} ({count(len(one.values), 'value')})"
    yield f"    {drawn}"


def _table(one: Table, style: Style) -> Iterator[str]:
    shown = one.rows[:_MOST_ROWS]
    cells = [[value(cell, column.unit) for cell, column in zip(row, one.columns, strict=False)] for row in shown]
    heads = [safe.name(column.title, 40) for column in one.columns]
    widths = [
        max(safe.columns(row[number]) for row in [heads, *cells] if number < len(row)) for number in range(len(heads))
    ]
    widths = _narrowed(widths, style.width - _INDENT)
    yield _heading(one.title)
    yield "    " + style.paint(_row(heads, widths, one), "dim")
    yield from ("    " + _row(row, widths, one) for row in cells)
    yield from _left_out(len(one.rows) - len(shown))


def _narrowed(widths: list[int], room: int) -> list[int]:
    """The widest column, which holds names, gives way where the rows would wrap."""
    over = sum(widths) + 2 * (len(widths) - 1) - room
    if over <= 0:
        return widths
    widest = widths.index(max(widths))
    shorter = min(widths[widest], max(widths[widest] - over, _SHORTEST))
    return [*widths[:widest], shorter, *widths[widest + 1 :]]


def _row(cells: list[str], widths: list[int], table: Table) -> str:
    """Text to the left, numbers to the right."""
    padded = []
    for whole, width, column in zip(cells, widths, table.columns, strict=False):
        cell = safe.middle(whole, width)
        gap = " " * (width - safe.columns(cell))
        padded.append(cell + gap if column.unit == "text" else gap + cell)
    return "  ".join(padded).rstrip()


def _left_out(number: int) -> Iterator[str]:
    if number > 0:
        yield f"    … {number} more"


def _intervals(one: Intervals, style: Style) -> Iterator[str]:
    spans = one.spans
    longest = sorted(spans, key=lambda span: span[0] - span[1])[:3]
    where = ", ".join(f"{duration(end - start)} from {duration(start)}" for start, end in sorted(longest))
    most = "the longest: " if len(spans) > 3 else ""
    yield f"{_heading(one.title)}  {duration(one.total_ns)} in {count(one.pieces, 'piece')}"
    yield from (f"    {text}" for text in safe.wrap(most + where, style.width - 4))
