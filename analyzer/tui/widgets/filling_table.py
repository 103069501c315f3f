"""A table whose first rows are there at once; the others follow while nobody presses a key.

A row is one cell, whatever stands in it: to draw one takes Textual nearly as long as to draw all columns in it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice

from textual.content import Content
from textual.widgets import DataTable

# Measured on a small machine: 500 rows take 80 ms. Each part also paints the table anew (20 ms), so that few parts are best.
ROWS_LATER = 200
# What is painted goes to the terminal from another thread, which has to get a turn; so does the next key.
PAUSE_SECONDS = 0.02


# Between two columns; what Textual leaves around a cell.
BETWEEN, AROUND = "  ", 2


@dataclass(frozen=True)
class Heading:
    """What stands over a column, and how many cells it has."""

    title: str
    width: int


def taken(columns: Sequence[Heading]) -> int:
    """Cells of all columns, with what is between and around them."""
    return sum(column.width + len(BETWEEN) for column in columns) - len(BETWEEN) + AROUND


def joined(cells: Sequence[Content], columns: Sequence[Heading]) -> Content:
    """A row: each of its cells as wide as its column."""
    return Content(BETWEEN).join(_fit(cell, column.width) for cell, column in zip(cells, columns, strict=True))


def _fit(cell: Content, width: int) -> Content:
    cut = cell.truncate(width, ellipsis=True) if cell.cell_length > width else cell
    return cut.pad_right(width - cut.cell_length)


class FillingTable(DataTable[Content]):
    """Rows are given as an iterator: they are drawn when it is their turn."""

    def __init__(self, id: str) -> None:
        super().__init__(id=id, cursor_type="row", zebra_stripes=False)
        self._coming: Iterator[Content] = iter(())

    def fill(self, columns: Sequence[Heading], rows: Iterable[Content], least: int = 0) -> None:
        """Show these rows instead of those before, in parts; rows that were still to come from an earlier call are dropped.

        Args:
            columns: What stands over them.
            rows: Each as wide as all columns.
            least: How many have to be there at once, beside those that are seen.
        """
        self.clear(columns=True)
        self.add_column(
            joined([Content(column.title) for column in columns], columns).plain, width=taken(columns) - AROUND
        )
        rows = self._coming = iter(rows)
        # As many as are seen, and one that tells whether more follow.
        self._more(rows, max(least, self.size.height + 1))

    def _more(self, rows: Iterator[Content], count: int = ROWS_LATER) -> None:
        if rows is not self._coming or not self.is_attached:
            return
        part = [(row,) for row in islice(rows, count)]
        self.add_rows(part)
        if len(part) == count:
            self.set_timer(PAUSE_SECONDS, partial(self._more, rows))

    def action_scroll_bottom(self) -> None:
        """The last row, even where it has not come yet."""
        self.add_rows((row,) for row in self._coming)
        super().action_scroll_bottom()
