"""Bars of coloured or patterned cells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from textual.content import Content

from analyzer.tui.look.glyphs import Glyphs


@dataclass(frozen=True)
class Part:
    """A piece of a stacked bar. `labels` from longest to shortest; the first that fits is written inside."""

    cause: str
    value: float
    labels: tuple[str, ...] = ()


def allocate(values: Sequence[float], width: int) -> list[int]:
    """Whole cells for each value, `width` in total (0 for all where the values are nothing): largest remainder."""
    total = sum(values)
    if total <= 0 or width <= 0:
        return [0] * len(values)
    exact = [value * width / total for value in values]
    cells = [int(cell) for cell in exact]
    by_remainder = sorted(range(len(values)), key=lambda i: (cells[i] - exact[i], i))
    for i in by_remainder[: width - sum(cells)]:
        cells[i] += 1
    return cells


def fitting(labels: Sequence[str], width: int) -> str:
    """The first label that leaves a cell free on both sides; empty where none does."""
    return next((label for label in labels if cell_len(label) + 2 <= width), "")


def segment(cause: str, width: int, labels: Sequence[str], glyphs: Glyphs, *, bold: bool = False) -> Content:
    """One piece: a filled run of `width` cells with a label in its middle."""
    label = fitting(labels, width)
    fill = " " if glyphs.coloured else glyphs.patterns[cause]
    inside = f" {label} " if label and not glyphs.coloured else label
    left = (width - cell_len(inside)) // 2
    right = width - cell_len(inside) - left
    weight = "bold " if bold or not glyphs.coloured else ""
    if glyphs.coloured:
        return Content.styled(fill * left + inside + fill * right, f"{weight}$ink on $cause-{cause}")
    return Content.assemble((fill * left, ""), (inside, weight.strip()), (fill * right, ""))


def partial(cause: str, ratios: Sequence[float], labels: Sequence[str], glyphs: Glyphs) -> Content:
    """A piece each cell of which is only as high as its share, 0 to 1, of the time it stands for."""
    top = len(glyphs.eighths)
    fill = "".join(glyphs.eighths[min(top, max(1, round(ratio * top))) - 1] for ratio in ratios)
    label = fitting(labels, len(ratios) - 2)
    inside = f" {label} " if label else ""
    left = (len(ratios) - cell_len(inside)) // 2
    style = f"$cause-{cause}" if glyphs.coloured else ""
    return Content.assemble((fill[:left], style), inside, (fill[left + cell_len(inside) :], style))


def stacked(parts: Sequence[Part], width: int, glyphs: Glyphs) -> Content:
    """Parts side by side, together exactly `width` cells."""
    cells = allocate([part.value for part in parts], width)
    pieces = (
        segment(part.cause, size, part.labels, glyphs, bold=True)
        for part, size in zip(parts, cells, strict=True)
        if size
    )
    return Content("").join(pieces)


def shown_inside(parts: Sequence[Part], width: int) -> list[bool]:
    """Which parts of `stacked` are wide enough for one of their labels."""
    cells = allocate([part.value for part in parts], width)
    return [bool(fitting(part.labels, size)) for part, size in zip(parts, cells, strict=True)]


def swatch(cause: str, glyphs: Glyphs) -> Content:
    """The legend's sample of a cause's fill."""
    if glyphs.coloured:
        return Content.styled(glyphs.severity["medium"], f"$cause-{cause}")
    return Content(glyphs.patterns[cause])


def bar(value: float, largest: float, width: int, style: str, glyphs: Glyphs) -> Content:
    """A bar of at most `width` cells; anything above nothing has at least one."""
    share = value / largest if largest > 0 else 0.0
    cells = max(1, round(share * width)) if value > 0 else 0
    return Content.styled(glyphs.bar * min(cells, width), style)


def columns(values: Sequence[float], styles: Sequence[str], glyphs: Glyphs) -> Content:
    """A row of little columns from nothing up to the largest value, one cell each."""
    largest = max(values, default=0.0)
    top = len(glyphs.eighths) - 1
    pieces = [
        (glyphs.eighths[min(top, max(0, round(value / largest * (top + 1)) - 1)) if largest > 0 else 0], style)
        for value, style in zip(values, styles, strict=True)
    ]
    return Content.assemble(*pieces)
