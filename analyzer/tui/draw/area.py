"""A filled curve of cells."""

from __future__ import annotations

from collections.abc import Sequence

from textual.content import Content

from analyzer.tui.look.glyphs import Glyphs


def resampled(values: Sequence[int], width: int) -> list[int]:
    """The highest value in each of `width` equal pieces; a piece without a value repeats the one before."""
    count = len(values)
    if not count or width <= 0:
        return []
    pieces = []
    for cell in range(width):
        first = cell * count // width
        pieces.append(max(values[first : max(first + 1, (cell + 1) * count // width)]))
    return pieces


def area(values: Sequence[int], top: int, height: int, style: str, glyphs: Glyphs) -> list[Content]:
    """A column per value, `height` lines, from the highest line down.

    Args:
        values: One per cell.
        top: The value that fills all lines.
        height: Lines.
        style: Of the filled part.
        glyphs: Their eighths draw the upper edge.
    """
    parts = len(glyphs.eighths)
    filled = [round(value / max(top, 1) * height * parts) for value in values]
    rows = []
    for level in reversed(range(height)):
        text = "".join(_cell(amount - level * parts, glyphs) for amount in filled)
        rows.append(Content.styled(text, style))
    return rows


def _cell(eighths: int, glyphs: Glyphs) -> str:
    if eighths <= 0:
        return " "
    return glyphs.eighths[min(eighths, len(glyphs.eighths)) - 1]
