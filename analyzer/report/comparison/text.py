"""A comparison as plain text."""

from __future__ import annotations

from collections.abc import Sequence

from analyzer.compare.comparison import Comparison
from analyzer.compare.gate import GateResult
from analyzer.page.changes import differing
from analyzer.page.words import safe
from analyzer.report.comparison import rows
from analyzer.report.style import Role, Style
from analyzer.report.text.chart import stacked


def render(comparison: Comparison, gate: GateResult | None = None, style: Style | None = None) -> str:
    """The whole report, ending in a newline."""
    style = style or Style()
    blocks = [_head(comparison, style)]
    if comparison.differences:
        blocks.append(_differences(comparison, style))
    for title, heads, body in rows.tables(comparison):
        above = _bars(comparison, style) if heads[0] == "cause" else []
        below = _new_ones(comparison, style) if heads[0] == "state" else []
        blocks.append([style.paint(title, "title"), *above, *_table(heads, body, style), *below])
    if gate is not None:
        role: Role = "strong" if not gate.judged else "good" if gate.passed else "bad"
        mark = style.paint("gate FAILED" if not gate.passed else f"gate {rows.gate_state(gate)}", role)
        blocks.append([mark, *(f"  {safe.clean(line)}" for line in gate.lines)])
    return style.encode("\n\n".join("\n".join(line.rstrip() for line in block) for block in blocks) + "\n")


def _head(comparison: Comparison, style: Style) -> list[str]:
    kind = comparison.change.kind if comparison.change else "inconclusive"
    role = {"faster": "good", "slower": "bad"}.get(kind, "strong")
    answer = safe.wrap(rows.answer(comparison), style.width)
    return [
        f"{rows.side_names(comparison.before)} → {rows.side_names(comparison.after)}",
        "",
        *(style.paint(line, "good" if role == "good" else "bad" if role == "bad" else "strong") for line in answer),
        *(line for told in rows.of_jobs(comparison) for line in safe.wrap(told, style.width)),
        rows.headline(comparison),
        *(
            style.paint(f"  {name:<7}{rows.spread(side, comparison.noun)}", "dim")
            for name, side in (("before", comparison.before), ("after", comparison.after))
        ),
    ]


def _differences(comparison: Comparison, style: Style) -> list[str]:
    lines = [style.paint("What differs between the sides", "title")]
    for what, before, after, effect in differing(comparison.differences):
        sides = f"{before} → {after}" if before and after else before or after
        lines.append(f"  {what} ({effect}): {sides}")
    return lines


def _new_ones(comparison: Comparison, style: Style) -> list[str]:
    return [style.paint(f"  {line}", "dim") for line in safe.wrap(rows.of_new_ones(comparison), style.width - 2)]


def _bars(comparison: Comparison, style: Style) -> list[str]:
    """A bar of causes per side, both on one scale; the table below says what is too narrow for its name."""
    longest = max(comparison.before.mean_ns, comparison.after.mean_ns, 1)
    sides = (
        ("before", [(row.cause, max(row.before_ns, 0) / longest) for row in comparison.waterfall]),
        ("after", [(row.cause, max(row.after_ns, 0) / longest) for row in comparison.waterfall]),
    )
    return [f"  {name:<7}{stacked(shown, style.width - 11, style)}" for name, shown in sides]


def _table(heads: Sequence[str], body: list[tuple[str, ...]], style: Style) -> list[str]:
    widths = [max(safe.columns(row[column]) for row in [tuple(heads), *body]) for column in range(len(heads))]
    # Names get what the other columns leave; figures are never cut, and titles of findings go on in the next line.
    name = 1 if heads[0] == "state" else 0
    others = sum(width for column, width in enumerate(widths) if column != name) + 2 * len(widths)
    widths[name] = min(widths[name], max(style.width - others - 2, 16))
    lines = [
        line for row in body for line in (_of_a_finding(row, widths, name) if name else [_line(row, widths, name)])
    ]
    return ["  " + style.paint(_line(heads, widths, name), "dim"), *(f"  {line}" for line in lines)]


def _of_a_finding(row: Sequence[str], widths: Sequence[int], name: int) -> list[str]:
    """The row, with its title whole, behind its code where it takes several lines."""
    code, _, title = row[name].partition(" ")
    indent = len(code) + 1
    first, *rest = safe.wrap(title, max(widths[name] - indent, 1)) or [""]
    cells = [*row[:name], f"{code} {first}", *row[name + 1 :]]
    before = sum(widths[:name]) + 2 * name + indent
    return [_line(cells, widths, name), *(" " * before + line for line in rest)]


def _line(cells: Sequence[str], widths: Sequence[int], name: int) -> str:
    parts = []
    for column, (cell, width) in enumerate(zip(cells, widths, strict=True)):
        short = safe.middle(cell, width)
        filled = safe.pad(short, width)
        is_text = column in (name, 0) or (column == len(widths) - 1 and len(widths) == 5)
        parts.append(filled if is_text else filled[len(short.rstrip()) :] + short)
    return "  ".join(parts)
