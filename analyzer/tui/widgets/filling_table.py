"""A table whose first rows are there at once; the others follow while nobody presses a key."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import islice

from textual.content import Content
from textual.widgets import DataTable

# Measured on a small machine: 500 rows take 80 ms. Each part also paints the table anew (20 ms), so that few parts are best.
ROWS_LATER = 200
# What is painted goes to the terminal from another thread, which has to get a turn; so does the next key.
PAUSE_SECONDS = 0.02


class FillingTable(DataTable[Content]):
    """Rows are given as an iterator: their cells are drawn when it is their turn."""

    def __init__(self, id: str) -> None:
        super().__init__(id=id, cursor_type="row", zebra_stripes=False)
        self._coming: Iterator[Sequence[Content]] = iter(())

    def fill(self, rows: Iterator[Sequence[Content]], least: int = 0) -> None:
        """Add these rows, in parts; rows that were still to come from an earlier call are dropped.

        Args:
            rows: The cells of each.
            least: How many have to be there at once, beside those that are seen.
        """
        self._coming = rows
        # As many as are seen, and one that tells whether more follow.
        self._more(rows, max(least, self.size.height + 1))

    def _more(self, rows: Iterator[Sequence[Content]], count: int = ROWS_LATER) -> None:
        if rows is not self._coming or not self.is_attached:
            return
        part = list(islice(rows, count))
        self.add_rows(part)
        if len(part) == count:
            self.set_timer(PAUSE_SECONDS, partial(self._more, rows))

    def action_scroll_bottom(self) -> None:
        """The last row, even where it has not come yet."""
        self.add_rows(self._coming)
        super().action_scroll_bottom()
