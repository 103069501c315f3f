"""Small tables as text: the text columns give way, figures stay whole."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len
from textual.content import Content

NARROWEST = 8


def table(heads: Sequence[str], rows: Sequence[Sequence[str]], texts: Sequence[int], width: int) -> list[Content]:
    """A heading and the rows, each at most about `width` cells.

    Args:
        heads: Titles.
        rows: Cells, cleaned already.
        texts: Columns that hold text: aligned left, and cut where there is no room.
        width: Room.
    """
    widths = [max(map(cell_len, cells)) for cells in zip(heads, *rows, strict=False)]
    for _ in range(max(0, sum(widths) + 2 * (len(widths) - 1) - width)):
        widest = max(texts or range(len(widths)), key=lambda index: widths[index])
        if widths[widest] <= NARROWEST:
            break
        widths[widest] -= 1
    return [_row(heads, widths, texts, "bold"), *(_row(row, widths, texts, "") for row in rows)]


def _row(cells: Sequence[str], widths: Sequence[int], texts: Sequence[int], style: str) -> Content:
    pieces = []
    for index, (cell, width) in enumerate(zip(cells, widths, strict=False)):
        short = Content.styled(cell, style).truncate(width, ellipsis=True)
        free = width - short.cell_length
        pieces.append(short.pad_right(free) if index in texts else short.pad_left(free))
    return Content("  ").join(pieces)
