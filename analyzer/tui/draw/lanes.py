"""The lanes of one step: who was busy when, on a common scale."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from math import ceil

from rich.cells import cell_len
from textual.content import Content

from analyzer.analysis import Lane, Span
from analyzer.page.step.lanes import BUSY_RATIO, Cell
from analyzer.page.step.lanes import cells as cells_of
from analyzer.page.words.vocabulary import CAUSES
from analyzer.tui.draw.bars import partial, segment
from analyzer.tui.look.glyphs import Glyphs
from analyzer.tui.look.plain import line

_STEPS = (1, 2, 5)
# Other causes say more than so much of a long name does.
_VAGUE, _BEGUN = "framework", (24, 16)


def lane(lanes: Sequence[Lane], dur_ns: int, width: int, glyphs: Glyphs) -> Content:
    """One row of `width` cells; where the first lane has nothing, the next one shows (backward's own thread)."""
    cells = [Cell(None, 0.0)] * width
    for one in lanes:
        cells = [mine if mine.span else other for mine, other in zip(cells, cells_of(one, dur_ns, width), strict=True)]
    return _row(cells, glyphs, named=True)


def tall_lane(lane: Lane, dur_ns: int, width: int, height: int, glyphs: Glyphs) -> list[Content]:
    """A lane of several rows, the highest first: a device is drawn as high as it is busy; names stand in the lowest row."""
    cells = cells_of(lane, dur_ns, width)
    rows = []
    for level in range(height - 1, -1, -1):
        busy = (min(max(cell.busy * height - level, 0.0), 1.0) for cell in cells)
        part = [Cell(cell.span if share > 0 else None, share) for cell, share in zip(cells, busy, strict=True)]
        rows.append(_row(part, glyphs, named=level == 0))
    return rows


def _row(cells: Sequence[Cell], glyphs: Glyphs, *, named: bool) -> Content:
    pieces = []
    for _, group in groupby(cells, key=lambda cell: id(cell.span)):
        run = list(group)
        span, busy = run[0].span, [cell.busy for cell in run]
        if span is not None:
            pieces.append(_piece(span, busy, glyphs, named=named))
        else:
            pieces.append(_gap(len(run), glyphs) if named else Content(" " * len(run)))
    return Content("").join(pieces)


def _piece(span: Span, busy: Sequence[float], glyphs: Glyphs, *, named: bool) -> Content:
    label = line(span.label, 200)
    # `conv2d +30` stands for 31 events: the number gives way before the name does.
    name, _, others = label.partition(" +")
    cut = tuple(name[:cells] + glyphs.ellipsis for cells in _BEGUN if cells < len(name))
    begun = cut if span.cause == _VAGUE and not others else ()
    labels = tuple(text for text in (label, name, *begun, CAUSES[span.cause]) if text and named)
    full = [index for index, share in enumerate(busy) if share >= BUSY_RATIO]
    first, last = (full[0], full[-1] + 1) if full else (0, 0)
    if len(full) < max(last - first, 1):
        return partial(span.cause, busy, labels, glyphs)
    # The cells where it begins and ends are covered in part.
    inside = segment(span.cause, last - first, labels, glyphs)
    return Content("").join(
        [partial(span.cause, busy[:first], (), glyphs), inside, partial(span.cause, busy[last:], (), glyphs)]
    )


def _gap(width: int, glyphs: Glyphs) -> Content:
    return Content.styled(glyphs.gap * width, "$quiet")


def axis(dur_ns: int, width: int, start_ns: int = 0, free: int | None = None) -> Content:
    """Times along a part of the step, about one every 14 cells, the unit at the first that stands there.

    Args:
        dur_ns: Length of the part.
        width: Cells.
        start_ns: Where in the step it begins.
        free: A cell that no time may touch.
    """
    end = start_ns + dur_ns
    unit, factor = next(
        ((name, size) for name, size in (("s", 1e9), ("ms", 1e6), ("us", 1e3)) if end >= size * 2), ("ns", 1.0)
    )
    stride = _nice(max(dur_ns, 1) / factor / max(1, width / 14))
    text, tick, first = "", ceil(start_ns / factor / stride), True
    while tick * stride * factor < end:
        number = f"{tick * stride:.10g}"
        label = f"{number} {unit}" if first else number
        column = round((tick * stride * factor - start_ns) / dur_ns * width)
        if column + cell_len(label) > width:
            break
        tick += 1
        if free is None or not column - 1 <= free <= column + cell_len(label):
            text, first = text.ljust(column) + label, False
    return Content.styled(text.ljust(width), "$quiet")


def _nice(value: float) -> float:
    """The next of 1, 2, 5 times a power of ten."""
    power = 1.0
    while power * 10 <= value:
        power *= 10
    while power > value:
        power /= 10
    return next((step * power for step in _STEPS if step * power >= value), power * 10)


def bracket(
    spans: Sequence[tuple[int, int]], dur_ns: int, width: int, label: str, glyphs: Glyphs, style: str
) -> Content:
    """A brace under each span, the widest one with the label: the part of the step a finding explains."""
    scale = width / max(dur_ns, 1)
    ranges = [
        (max(0, min(width - 1, int(start * scale))), max(1, min(width, round(end * scale)))) for start, end in spans
    ]
    left, across, right, single = glyphs.bracket
    row = [" "] * width
    for start, end in ranges:
        if end - start < 2:
            row[start] = single
            continue
        row[start:end] = [left, *[across] * (end - start - 2), right]
    text = "".join(row)
    start, end = max(ranges, key=lambda one: one[1] - one[0], default=(0, 0))
    inner = f" {label} "
    if end - start >= len(inner) + 4:
        at = start + (end - start - len(inner)) // 2
        text = text[:at] + inner + text[at + len(inner) :]
    elif end + len(inner) <= width and not text[end : end + len(inner)].strip():
        text = text[:end] + inner + text[end + len(inner) :]
    return Content.styled(text, style)


def density(spans: Sequence[tuple[int, int]], dur_ns: int, width: int, glyphs: Glyphs, style: str) -> Content:
    """A strip as high in each cell as the share of it that the spans cover; blank where they are not."""
    scale = width / max(dur_ns, 1)
    covered = [0.0] * width
    for start, end in spans:
        begin, stop = max(0.0, start * scale), min(float(width), end * scale)
        for cell in range(int(begin), min(width, ceil(stop))):
            covered[cell] += min(stop, cell + 1) - max(begin, cell)
    top = len(glyphs.eighths)
    row = (glyphs.eighths[min(top, ceil(share * top)) - 1] if share > 0 else " " for share in covered)
    return Content.styled("".join(row), style)
