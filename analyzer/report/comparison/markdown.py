"""A comparison as Markdown for an issue or a pull request."""

from __future__ import annotations

from analyzer.compare.comparison import Comparison
from analyzer.compare.gate import GateResult
from analyzer.report.comparison import rows

# First column with names from a trace, by the table's first heading; they stand in code spans.
_CODE_COLUMNS = {"cause": 0, "state": 1, "kernel": 0, "op": 0}


def render(comparison: Comparison, gate: GateResult | None = None) -> str:
    """The whole report, ending in a newline."""
    parts = [f"### {rows.headline(comparison)}", rows.answer(comparison)]
    if gate is not None:
        state = "kept" if gate.passed else "**failed**"
        parts.append("\n".join([f"Gate {state}:", "", *(f"- {_code(line)}" for line in gate.lines)]))
    if comparison.differences:
        differing: list[tuple[str, ...]] = [
            (what, _code(before), _code(after), effect) for what, before, after, effect in rows.differing(comparison)
        ]
        parts.append(_table(("differs", "before", "after", "effect"), differing))
    for title, heads, body in rows.tables(comparison):
        column = _CODE_COLUMNS[heads[0]]
        coded = [tuple(_code(cell) if index == column else cell for index, cell in enumerate(row)) for row in body]
        table = _table(heads, coded)
        if heads[0] in ("kernel", "op"):
            parts.append(f"<details><summary>{title}</summary>\n\n{table}\n\n</details>")
        else:
            parts.append(f"**{title}**\n\n{table}")
    return "\n\n".join(parts) + "\n"


def _table(heads: tuple[str, ...], body: list[tuple[str, ...]]) -> str:
    lines = [f"| {' | '.join(heads)} |", f"|{'---|' * len(heads)}"]
    return "\n".join(lines + [f"| {' | '.join(row)} |" for row in body])


def _code(text: str) -> str:
    """The text in a code span no content can end, harmless in a table: `__next__`, `@x` and `|` stay what they are."""
    if not text:
        return ""
    cleaned = " ".join(text.split()).replace("|", "\\|")
    longest, run = 0, 0
    for character in cleaned:
        run = run + 1 if character == "`" else 0
        longest = max(longest, run)
    ticks = "`" * (longest + 1)
    gap = " " if cleaned.startswith("`") or cleaned.endswith("`") else ""
    return f"{ticks}{gap}{cleaned}{gap}{ticks}"
