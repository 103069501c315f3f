"""The modules that take the time, as a tree."""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.analysis import Analysis
from analyzer.page import modules
from analyzer.page.findings.groups import words
from analyzer.page.words import safe
from analyzer.report.style import Style

_SHOWN = 14
# Smaller ones explain nothing.
_LEAST_RATIO = 0.02
_NARROWEST_NAME = 20


def lines(analysis: Analysis, style: Style) -> Iterator[str]:
    """The largest, each below the one that calls it; nothing where modules were not recorded."""
    rows = modules.rows(analysis, _LEAST_RATIO, _SHOWN)
    if not rows:
        return
    figures = [modules.cells(row) for row in rows]
    heads = [words("time a step", analysis), *modules.HEADS[1:]]
    widths = [max(safe.columns(text) for text in column) for column in zip(heads, *figures, strict=True)]
    name, _, rest = modules.title(analysis).partition(" by ")
    yield style.paint(name, "title") + f" by {rest}"
    yield ""
    room = max(style.width - sum(widths) - 2 * len(widths) - 2, _NARROWEST_NAME)
    yield style.paint(f"  {_cells(heads, widths)}  module", "dim")
    for row, cells in zip(rows, figures, strict=True):
        indent = "  " * min(row.depth, room // 4)
        yield f"  {_cells(cells, widths)}  {indent}{safe.middle(row.name, room - len(indent))}"
    left = modules.left_out(analysis, len(rows))
    if left:
        yield style.paint(f"  {left}", "dim")


def _cells(cells: tuple[str, ...] | list[str], widths: list[int]) -> str:
    return "  ".join(text.rjust(width) for text, width in zip(cells, widths, strict=True))
