"""Ops without a formula, in a sentence beside the table of operators: they stand in none of its rows."""

from __future__ import annotations

from analyzer.analysis import Analysis, Hardware
from analyzer.page.findings.groups import each
from analyzer.page.words import safe
from analyzer.units import duration

# Named where they take a twentieth of what stands in the table, five at most.
_NOTICED_RATIO, _MOST_OTHERS = 0.05, 5


def other_ops(analysis: Analysis, found: Hardware) -> str:
    """The longest ops that stand in no row, with their time; empty where none takes a noticeable part."""
    steps = max(analysis.summary.used_steps, 1)
    known_ns = sum(one.kernel_ns for one in found.operators)
    told = [one for one in found.others[:_MOST_OTHERS] if one.kernel_ns >= _NOTICED_RATIO * known_ns]
    listed = ", ".join(f"{safe.name(one.op, 60)} {duration(one.kernel_ns / steps)}" for one in told)
    return f" No formula is known for {listed} {each(analysis)}." if listed else ""
