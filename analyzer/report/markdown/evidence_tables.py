"""The numbers behind a finding as Markdown tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from analyzer.analysis import Bars, Evidence, Series, Table, Unit
from analyzer.page.words.values import value
from analyzer.report.markdown.escape import cell, code, figure, prose
from analyzer.report.text.chart import sparkline
from analyzer.units import count, duration

_MOST_ROWS = 8
_MOST_COLUMNS = 8
_MOST_VALUES = 64


def evidence(one: Evidence) -> str:
    """One piece of evidence; nothing where it is empty."""
    if isinstance(one, Bars):
        return _bars(one)
    if isinstance(one, Series):
        return _series(one)
    if isinstance(one, Table):
        return _table(one)
    # `spans` are the longest pieces only.
    where = f"{duration(one.total_ns)} in {count(one.pieces, 'piece')}"
    return f"{_name(one.title)}: {where}." if one.spans else ""


def _name(title: str) -> str:
    text = prose(title, 100)
    first = text.partition(" ")[0]
    return text[:1].upper() + text[1:] if first.isalpha() and first.islower() else text


def table(heads: Sequence[str], aligns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table of finished cells; `aligns` holds `l` or `r` for each column."""
    line = "|".join("--:" if align == "r" else "---" for align in aligns)
    body = [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join([f"| {' | '.join(heads)} |", f"|{line}|", *body])


def _more(number: int) -> Iterator[str]:
    if number > 0:
        yield f"… {number} more"


def _bars(one: Bars) -> str:
    if not one.bars:
        return ""
    rows = [[_text(item.label), figure(value(item.value, one.unit))] for item in one.bars[:_MOST_ROWS]]
    rows += [[more, ""] for more in _more(len(one.bars) - _MOST_ROWS)]
    return table([cell(_name(one.title)), ""], "lr", rows)


def _series(one: Series) -> str:
    if not one.values:
        return ""
    lowest, highest = value(min(one.values), one.unit), value(max(one.values), one.unit)
    spread = lowest if lowest == highest else f"{lowest} to {highest}"
    drawn = sparkline(one.values[:_MOST_VALUES])
    return f"{_name(one.title)}: {spread} over {count(len(one.values), 'value')} {code(drawn)}"


def _table(one: Table) -> str:
    columns = one.columns[:_MOST_COLUMNS]
    if not columns:
        return ""
    heads = [cell(_name(column.title)) for column in columns]
    rows = [
        [_cell(item, column.unit) for item, column in zip(row, columns, strict=False)] for row in one.rows[:_MOST_ROWS]
    ]
    for more in _more(len(one.rows) - _MOST_ROWS):
        rows.append([more, *[""] * (len(columns) - 1)])
    aligns = ["l" if column.unit == "text" else "r" for column in columns]
    return f"{_name(one.title)}:\n\n{table(heads, aligns, rows)}"


def _cell(item: str | float | int | None, unit: Unit) -> str:
    return _text(item) if isinstance(item, str) else figure(value(item, unit))


def _text(text: str) -> str:
    """Words as words; a name of the trace as one piece of code."""
    shown = prose(text, 80)
    return cell(code(text, 80) if "`" in shown and "`" not in text else shown)
