"""The longest operators: what each achieves, and how far that is from its roofline."""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.analysis import Analysis
from analyzer.page import hardware
from analyzer.page.findings.groups import words
from analyzer.page.words import safe
from analyzer.report.style import Style

_SHOWN = 8
_NARROWEST_NAME = 20


def lines(analysis: Analysis, style: Style) -> Iterator[str]:
    """The table, longest first; nothing where shapes were not recorded."""
    rows = hardware.rows(analysis, _SHOWN)
    if not rows:
        return
    figures = [hardware.cells(row) for row in rows]
    heads = [words("time a step", analysis), *hardware.HEADS[1:]]
    widths = [max(safe.columns(text) for text in column) for column in zip(heads, *figures, strict=True)]
    yield style.paint("Operators", "title") + " by the time of their kernels, with what they achieve"
    yield ""
    room = max(style.width - sum(widths) - 2 * len(widths) - 2, _NARROWEST_NAME)
    yield style.paint(f"  {_cells(heads, widths)}  operator", "dim")
    for row, cells in zip(rows, figures, strict=True):
        yield f"  {_cells(cells, widths)}  {_name(row, room)}"
        if row.why:
            yield from (f"      {style.paint(text, 'dim')}" for text in safe.wrap(row.why, style.width - 6))
    notes = (hardware.against(analysis), hardware.ceilings_line(analysis), hardware.left_out(analysis, len(rows)))
    for note in filter(None, notes):
        yield from (f"  {style.paint(text, 'dim')}" for text in safe.wrap(note, style.width - 2))


def _name(row: hardware.WorkRow, room: int) -> str:
    """Op and shapes; of the shapes what there is room for, from the first."""
    op = safe.middle(row.op.removeprefix("aten::"), room)
    left = room - safe.columns(op) - 1
    if left < 6 or not row.shapes:
        return op
    return f"{op} {row.shapes if safe.columns(row.shapes) <= left else safe.pad(row.shapes, left)}"


def _cells(cells: tuple[str, ...] | list[str], widths: list[int]) -> str:
    return "  ".join(text.rjust(width) for text, width in zip(cells, widths, strict=True))
