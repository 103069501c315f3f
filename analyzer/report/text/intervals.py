"""Measured times as bars with how far their repeats lie apart: `████████├─┼──┤ 4.2 s`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from analyzer.page.words import safe
from analyzer.report.style import Style
from analyzer.units import duration

_LABEL_COLUMNS, _TIME_COLUMNS = 32, 9


@dataclass(frozen=True)
class Timed:
    """Times of one thing's repeats; one where it was measured once."""

    label: str
    times_ns: Sequence[int]
    median_ns: int


def overlap(one: Timed, other: Timed) -> bool:
    """Whether a repeat of either lies between those of the other: then which is faster may be chance."""
    return min(one.times_ns) <= max(other.times_ns) and min(other.times_ns) <= max(one.times_ns)


def intervals(rows: Sequence[Timed], style: Style) -> Iterator[str]:
    """A line for each; a bar reaches to the fastest repeat, the interval to the slowest, with the median marked inside."""
    longest = max((max(row.times_ns) for row in rows), default=0)
    room = style.width - _LABEL_COLUMNS - _TIME_COLUMNS - 2
    if longest <= 0 or room < 8:
        return
    for row in rows:
        bar = _bar(row, longest, room, style)
        yield f"{safe.pad(safe.name(row.label, _LABEL_COLUMNS), _LABEL_COLUMNS)} {bar} {duration(row.median_ns)}"


def _bar(row: Timed, longest: int, room: int, style: Style) -> str:
    full, left, line, middle, right = "█├─┼┤" if style.unicode else "#[-|]"
    low, median, high = (
        round(time / longest * (room - 1)) for time in (min(row.times_ns), row.median_ns, max(row.times_ns))
    )
    if len(row.times_ns) < 2:
        return full * max(1, high)
    cells = [full] * low + [line] * (high - low + 1)
    cells[low], cells[high] = left, right
    # An interval narrower than three cells is all edge, or all median.
    cells[median] = middle
    return "".join(cells)
