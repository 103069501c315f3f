"""What a finding shows: bars, a series, a table, or where on the timeline its time lies."""

from __future__ import annotations

from typing import Literal

from analyzer.analysis.base import Document

UnitName = Literal["ns", "bytes", "ratio", "count", "text"]


class BarItem(Document, frozen=True, kw_only=True):
    """One labelled bar."""

    label: str
    value: float


class BarsEvidence(Document, frozen=True, kw_only=True, tag_field="type", tag="bars"):
    """Quantities side by side."""

    title: str
    unit: UnitName
    bars: tuple[BarItem, ...]


class SeriesEvidence(Document, frozen=True, kw_only=True, tag_field="type", tag="series"):
    """A quantity over steps or calls."""

    title: str
    unit: UnitName
    values: tuple[float, ...]


class TableColumn(Document, frozen=True, kw_only=True):
    """A table's column."""

    title: str
    unit: UnitName


class TableEvidence(Document, frozen=True, kw_only=True, tag_field="type", tag="table"):
    """Rows of values."""

    title: str
    columns: tuple[TableColumn, ...]
    rows: tuple[tuple[str | float | int | None, ...], ...]


class IntervalsEvidence(Document, frozen=True, kw_only=True, tag_field="type", tag="intervals"):
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


EvidenceDocument = BarsEvidence | SeriesEvidence | TableEvidence | IntervalsEvidence
