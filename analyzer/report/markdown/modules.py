"""The program's modules as a tree, folded away."""

from __future__ import annotations

from analyzer.analysis import Analysis
from analyzer.page import modules
from analyzer.report.markdown.detail import Detail
from analyzer.report.markdown.escape import cell, code, figure, prose
from analyzer.report.markdown.evidence_tables import table

_SHOWN = 40
_LEAST_RATIO = 0.005
# Markdown drops leading blanks.
_INDENT = "\u2007\u2007"


def tree(analysis: Analysis, detail: Detail) -> str:
    """A folded table; empty where modules were not recorded."""
    rows = modules.rows(analysis, _LEAST_RATIO, _SHOWN if detail.evidence else _SHOWN // 4)
    if not rows:
        return ""
    heads = ["Module", *(head[:1].upper() + head[1:] for head in modules.HEADS)]
    cells = [[_INDENT * row.depth + cell(code(row.name, 60)), *map(figure, modules.cells(row))] for row in rows]
    left = modules.left_out(analysis, len(rows))
    drawn = table(heads, "l" + "r" * len(modules.HEADS), cells)
    told = f"\n\n{prose(left, 200)}" if left else ""
    return f"<details><summary>{modules.title(analysis)}</summary>\n\n{drawn}{told}\n\n</details>"
