"""The longest operators against their roofline, folded away."""

from __future__ import annotations

from analyzer.analysis import Analysis
from analyzer.page import hardware
from analyzer.page.findings.groups import words
from analyzer.report.markdown.detail import Detail
from analyzer.report.markdown.escape import cell, code, figure, prose
from analyzer.report.markdown.evidence_tables import table

_SHOWN = 20


def operators(analysis: Analysis, detail: Detail) -> str:
    """A folded table; empty where shapes were not recorded."""
    rows = hardware.rows(analysis, _SHOWN if detail.evidence else _SHOWN // 4)
    if not rows:
        return ""
    heads = ["Operator", "Shapes", *(head[:1].upper() + head[1:] for head in hardware.HEADS), "Why below"]
    cells = [
        [
            cell(code(row.op, 60)),
            cell(code(row.shapes, 60)) if row.shapes else "",
            *map(figure, hardware.cells(row)),
            cell(prose(row.why, 200)),
        ]
        for row in rows
    ]
    notes = (hardware.against(analysis), hardware.ceilings_line(analysis), hardware.left_out(analysis, len(rows)))
    told = "\n\n".join(prose(note, 1_200) for note in notes if note)
    drawn = table(heads, "ll" + "r" * len(hardware.HEADS) + "l", cells)
    title = words("Operators: what they achieve, times and calls of a mean step", analysis)
    return f"<details><summary>{title}</summary>\n\n{drawn}\n\n{told}\n\n</details>"
