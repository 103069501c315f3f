"""A comparison as Markdown for an issue or a pull request."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from analyzer.compare.comparison import Comparison
from analyzer.compare.gate import GateResult
from analyzer.page.changes import differing
from analyzer.report.comparison import rows
from analyzer.report.markdown.escape import cell, code, figure, prose
from analyzer.report.markdown.evidence_tables import table

# By it a program finds its own report again.
MARKER = "<!-- advisor-comparison schema={} -->"
# By a table's first heading, the column with names; they stand in code spans.
_CODE_COLUMNS = {"cause": 0, "state": 1, "operator": 0, "kernel": 0, "op": 0, "job": 0}
_MOST_ROWS = 60


def render(comparison: Comparison, gate: GateResult | None = None) -> str:
    """The whole report, ending in a newline."""
    return "\n\n".join(_blocks(comparison, gate)) + "\n"


def _blocks(comparison: Comparison, gate: GateResult | None) -> Iterator[str]:
    yield f"{MARKER.format(comparison.schema_version)}\n### {rows.headline(comparison)}"
    yield f"**{rows.answer(comparison)}**"
    if comparison.job is not None:
        yield "\n".join(f"- {prose(line)}" for line in rows.of_jobs(comparison))
    yield "\n".join(
        f"- {name}: {code(rows.side_names(side), 400)}, {rows.spread(side, comparison.noun)}"
        for name, side in (("before", comparison.before), ("after", comparison.after))
    )
    if gate is not None:
        state = rows.gate_state(gate)
        yield "\n".join(
            [f"Gate {state if gate.passed else f'**{state}**'}:", "", *(f"- {code(line, 400)}" for line in gate.lines)]
        )
    conditions = [
        [what, cell(_code(before)), cell(_code(after)), effect]
        for what, before, after, effect in differing(comparison.differences)
    ]
    if conditions:
        yield table(("differs", "before", "after", "effect"), "llll", conditions)
    for title, heads, body in rows.tables(comparison):
        drawn = _table(heads, body)
        folded = heads[0] in ("operator", "kernel", "op")
        yield f"<details><summary>{title}</summary>\n\n{drawn}\n\n</details>" if folded else f"**{title}**\n\n{drawn}"
        below = rows.of_new_ones(comparison) if heads[0] == "state" else ""
        if below:
            yield prose(below)


def _table(heads: tuple[str, ...], body: Sequence[tuple[str, ...]]) -> str:
    name = _CODE_COLUMNS[heads[0]]
    figures = [place > name and head != "came true" for place, head in enumerate(heads)]
    shown = [
        [
            cell(code(text)) if place == name else figure(text) if figures[place] else text
            for place, text in enumerate(row)
        ]
        for row in body[:_MOST_ROWS]
    ]
    more = f"\n\n{len(body) - _MOST_ROWS} more are not listed here." if len(body) > _MOST_ROWS else ""
    return table(heads, "".join("r" if is_figure else "l" for is_figure in figures), shown) + more


def _code(text: str) -> str:
    return code(text) if text else ""
