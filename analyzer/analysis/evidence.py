"""What a finding shows: bars, a series, a table, or where on the timeline its time lies.

Rules make these, the document holds them, the reports draw them: there is one of each. Only `Intervals` is no rule's; the time a
finding claims is drawn for it.
"""

from __future__ import annotations

from typing import Literal

from msgspec.structs import force_setattr

from analyzer.analysis.base import Document

Unit = Literal["ns", "bytes", "ratio", "count", "text"]


class Bar(Document, frozen=True):
    """One labelled bar of a chart."""

    label: str
    value: float

    def __post_init__(self) -> None:
        # Measurements hand over integers and numpy's numbers: the document states both as it states any other.
        force_setattr(self, "value", float(self.value))


class Bars(Document, frozen=True, tag_field="type", tag="bars"):
    """A few quantities side by side, all in `unit`."""

    title: str
    unit: Unit
    bars: tuple[Bar, ...]


class Series(Document, frozen=True, tag_field="type", tag="series"):
    """One quantity over steps or calls, in order, in `unit`."""

    title: str
    unit: Unit
    values: tuple[float, ...]

    def __post_init__(self) -> None:
        # As for a bar.
        force_setattr(self, "values", tuple(map(float, self.values)))


class Column(Document, frozen=True):
    """A table's column: its heading and the unit of its cells."""

    title: str
    unit: Unit


class Table(Document, frozen=True, tag_field="type", tag="table"):
    """Rows of values; a cell is a number in its column's unit, or text."""

    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[str | float | int | None, ...], ...]


class Intervals(Document, frozen=True, kw_only=True, tag_field="type", tag="intervals"):
    """Where on the timeline's step the finding's claimed time lies: (start, end) relative to the step, nanoseconds.

    `spans` are the longest pieces; `left_out` says how many more there are, of `left_out_ns` together.
    """

    title: str
    step: int
    spans: tuple[tuple[int, int], ...]
    left_out: int = 0
    left_out_ns: int = 0

    @property
    def pieces(self) -> int:
        """How many pieces there are, those left out among them."""
        return len(self.spans) + self.left_out

    @property
    def total_ns(self) -> int:
        """All their time."""
        return sum(end - start for start, end in self.spans) + self.left_out_ns


Evidence = Bars | Series | Table | Intervals
