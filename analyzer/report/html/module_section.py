"""The modules of the page: a flame graph, and the tree as a table."""

from __future__ import annotations

from dataclasses import dataclass

from analyzer.analysis import Analysis
from analyzer.page import modules
from analyzer.page.findings.groups import words
from analyzer.report.drawing.flame import flame
from analyzer.report.drawing.shapes import Drawing
from analyzer.report.html.sheet import Head, Sheet

_MOST = 150
# HTML joins common blanks.
_INDENT = "\u2003"
_SHOWN_DEPTH = 12


@dataclass(frozen=True)
class ModuleSection:
    """What the template shows."""

    title: str
    flame: Drawing | None
    table: Sheet


def module_section(analysis: Analysis) -> ModuleSection | None:
    """The section; None where no modules were recorded."""
    rows = modules.rows(analysis, most=_MOST)
    if not rows:
        return None
    figures = (Head(head[:1].upper() + head[1:], True) for head in modules.HEADS)
    cells = [[_INDENT * min(row.depth, _SHOWN_DEPTH) + row.name, *modules.cells(row)] for row in rows]
    left = modules.left_out(analysis, len(rows))
    title = modules.title(analysis)
    table = Sheet(words(f"{title}; a mean step", analysis), (Head("Module"), *figures), cells, left)
    return ModuleSection(title, flame(analysis), table)
