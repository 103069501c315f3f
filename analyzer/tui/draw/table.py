"""Small tables as text: the text columns give way, figures stay whole."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len
from textual.content import Content

NARROWEST = 8


def table(heads: Sequence[str], rows: Sequence[Sequence[str]], texts: Sequence[int], width: int) -> list[Content]:
    """A heading, on several lines where there is little room, and the rows; each at most about `width` cells.

    Args:
        heads: Titles.
        rows: Cells, cleaned already.
        texts: Columns that hold text: aligned left, and cut where there is no room.
        width: Room.
    """
    widths = [max(map(cell_len, cells)) for cells in zip(heads, *rows, strict=False)]
    if sum(widths) + 2 * (len(widths) - 1) > width:
        widths = _narrowed(heads, rows, texts, widths)
    for _ in range(max(0, sum(widths) + 2 * (len(widths) - 1) - width)):
        widest = max(texts or range(len(widths)), key=lambda index: widths[index])
        if widths[widest] <= NARROWEST:
            break
        widths[widest] -= 1
    titles = [_title(head, room) for head, room in zip(heads, widths, strict=False)]
    height = max(map(len, titles), default=1)
    # A title of one line stands right over its column.
    lines = zip(*([Content("")] * (height - len(title)) + title for title in titles), strict=True)
    return [
        *(_row([piece.plain.strip() for piece in line], widths, texts, "bold") for line in lines),
        *(_row(row, widths, texts, "") for row in rows),
    ]


def _title(head: str, room: int) -> list[Content]:
    """A title's lines; one with a word that no line holds is cut, as the cells below it are: half a word reads like another."""
    if any(cell_len(word) > room for word in head.split()):
        return [Content(head).truncate(room, ellipsis=True)]
    return list(Content(head).wrap(room)) or [Content("")]


def _narrowed(
    heads: Sequence[str], rows: Sequence[Sequence[str]], texts: Sequence[int], widths: Sequence[int]
) -> list[int]:
    """The widths where the titles of figures stand on several lines: names are worth more than they."""
    cells = [max((cell_len(row[index]) for row in rows if index < len(row)), default=0) for index in range(len(widths))]
    return [
        width if index in texts else min(width, max(cells[index], _halved(heads[index])))
        for index, width in enumerate(widths)
    ]


def _halved(title: str) -> int:
    """The least width at which a title takes no more than two lines."""
    words = title.split()
    halves = ((" ".join(words[:at]), " ".join(words[at:])) for at in range(len(words) + 1))
    return min(max(cell_len(first), cell_len(second)) for first, second in halves)


def _row(cells: Sequence[str], widths: Sequence[int], texts: Sequence[int], style: str) -> Content:
    pieces = []
    for index, (cell, width) in enumerate(zip(cells, widths, strict=False)):
        short = Content.styled(cell, style).truncate(width, ellipsis=True)
        free = width - short.cell_length
        pieces.append(short.pad_right(free) if index in texts else short.pad_left(free))
    return Content("  ").join(pieces)
