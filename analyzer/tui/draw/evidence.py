"""Evidence: the numbers behind a claim, as bars, columns and tables."""

from __future__ import annotations

from rich.cells import cell_len
from textual.content import Content

from analyzer import units
from analyzer.analysis import Bars, Evidence, Intervals, Series, Table
from analyzer.page.words.values import value
from analyzer.tui.draw import bars
from analyzer.tui.draw.table import table
from analyzer.tui.look.glyphs import Glyphs
from analyzer.tui.look.plain import line

MOST_ROWS = 12
SHORTEST_BAR = 16


def evidence(item: Evidence, width: int, glyphs: Glyphs, style: str) -> list[Content]:
    """The lines of one piece of evidence, each at most `width` cells."""
    if isinstance(item, Bars):
        lines = _bars(item, width, glyphs, style)
    elif isinstance(item, Series):
        lines = _series(item, width, glyphs, style)
    elif isinstance(item, Table):
        lines = _table(item, width)
    else:
        lines = _intervals(item)
    return [one.truncate(width, ellipsis=True) for one in lines]


def _bars(item: Bars, width: int, glyphs: Glyphs, style: str) -> list[Content]:
    shown = item.bars[:MOST_ROWS]
    texts = [value(one.value, item.unit) for one in shown]
    labels = [line(one.label, 200) for one in shown]
    text_width = max(map(cell_len, texts), default=0)
    # Names come first; a bar of a few cells still compares.
    name_width = min(max(map(cell_len, labels), default=0), max(8, width - text_width - SHORTEST_BAR - 2))
    room = max(1, width - name_width - text_width - 2)
    largest = max((one.value for one in shown), default=0.0)
    lines = [Content.styled(line(item.title), "$quiet")]
    for index, (one, label, text) in enumerate(zip(shown, labels, texts, strict=True)):
        name = Content(label).truncate(name_width, ellipsis=True)
        pad = " " * (name_width - name.cell_length + 1)
        colour = style if index == 0 else "$cause-framework"
        lines.append(
            Content.assemble(name, pad, bars.bar(one.value, largest, room, colour, glyphs), " ", (text, "bold"))
        )
    return lines + _more(len(item.bars))


def _series(item: Series, width: int, glyphs: Glyphs, style: str) -> list[Content]:
    values = item.values[: max(1, width - 2)]
    wide = max(1, min(3, (width - 2) // max(1, len(values))))
    cells = [one for one in values for _ in range(wide)]
    low, high = min(item.values, default=0.0), max(item.values, default=0.0)
    span = f"{value(low, item.unit)} to {value(high, item.unit)}"
    title = Content.styled(f"{line(item.title)}, {units.count(len(item.values), 'value')}: {span}", "$quiet")
    return [title, bars.columns(cells, [style] * len(cells), glyphs)]


def _table(item: Table, width: int) -> list[Content]:
    rows = [
        [value(cell, column.unit) for cell, column in zip(row, item.columns, strict=False)]
        for row in item.rows[:MOST_ROWS]
    ]
    heads = [line(column.title, 80) for column in item.columns]
    texts = [index for index, column in enumerate(item.columns) if column.unit == "text"]
    return [Content.styled(line(item.title), "$quiet"), *table(heads, rows, texts, width), *_more(len(item.rows))]


def _intervals(item: Intervals) -> list[Content]:
    text = f"{line(item.title)}: {units.duration(item.total_ns)}, {units.count(item.pieces, 'piece')}"
    return [Content.styled(text, "$quiet")]


def _more(count: int) -> list[Content]:
    return [Content.styled(f"and {count - MOST_ROWS} more", "$quiet")] if count > MOST_ROWS else []
