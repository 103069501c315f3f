"""A comparison as commands of a GitHub Actions log: the answer, what the gate says, and what is new or fixed.

The runner shows ten errors, ten warnings and ten notices of a step. The tables go to the page of the job
(`GITHUB_STEP_SUMMARY`), which the command line sees to.
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.analysis.changes import RuleChange
from analyzer.compare.comparison import Comparison
from analyzer.compare.gate import GateResult
from analyzer.page.changes import came_true, promised
from analyzer.page.words import safe
from analyzer.page.words.of_steps import label
from analyzer.report.comparison import rows
from analyzer.report.github import command

_MOST = 9


def render(comparison: Comparison, gate: GateResult | None = None) -> str:
    """One command a line, ending in a newline."""
    return "".join([*_answer(comparison, gate), *_findings(comparison)])


def _answer(comparison: Comparison, gate: GateResult | None) -> Iterator[str]:
    title = {"title": f"advisor {rows.headline(comparison)}"}
    if gate is not None and not gate.passed:
        yield command("error", title, f"The gate failed: {'; '.join(gate.lines)}. {rows.answer(comparison)}")
    else:
        # A gate that cannot judge stays open; nobody should take that for a pass.
        judged = comparison.change is not None and comparison.change.kind in ("faster", "unchanged")
        kept = f" Gate: {'; '.join(gate.lines)}." if gate is not None and not gate.judged else ""
        yield command("notice" if judged else "warning", title, rows.answer(comparison) + kept)


def _findings(comparison: Comparison) -> Iterator[str]:
    new = [row for row in comparison.rules if row.state == "new" and row.left_ns > 0]
    fixed = [row for row in comparison.rules if row.state == "fixed" and row.predicted_ns > 0]
    each = label("a step", comparison.noun)
    for row in new[:_MOST]:
        yield _finding(
            row,
            "warning",
            "new",
            f"It was not there before; fixing it saves {promised(row.kind, row.left_ns)} {each}.",
        )
    for row in fixed[:_MOST]:
        before = promised(row.kind, row.predicted_ns).capitalize()
        outcome = came_true(row, comparison.change.kind if comparison.change is not None else None)
        yield _finding(
            row, "notice", "fixed",
            f"{before} {each} was promised" + (f"; {outcome}." if outcome else "."),
        )  # fmt: skip


def _finding(row: RuleChange, level: str, state: str, message: str) -> str:
    title = f"advisor {safe.name(row.rule, 12)} {state}: {safe.name(row.title, 80)}"
    return command(level, {"title": title}, message)
