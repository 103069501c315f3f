"""What all findings together could give, and how long each step took."""

from __future__ import annotations

from textual.content import Content

from analyzer.analysis import Analysis, Bar, Bars
from analyzer.page.findings.card import Card
from analyzer.page.headline import exceeds_unprofiled
from analyzer.tui.draw.evidence import evidence
from analyzer.tui.draw.finding import heading, prose
from analyzer.tui.look.glyphs import Glyphs


def whole(analysis: Analysis, card: Card, width: int, glyphs: Glyphs) -> Content:
    """Two sections under the evidence of a finding.

    Args:
        analysis: The document.
        card: The finding shown above; the sections are the same for all.
        width: Cells.
        glyphs: How to draw.
    """
    summary = analysis.summary
    noun = analysis.trace.steps.noun
    at_best = "at best" if summary.reachable_kind == "bound" else "at best (estimate)"
    now_and_then = {f"a {noun} now": summary.step_ns.mean, at_best: summary.reachable_step_ns}
    if summary.likely_step_ns != summary.reachable_step_ns:
        now_and_then["likely"] = summary.likely_step_ns
    lines = []
    if not exceeds_unprofiled(analysis):
        lines += [
            heading("If you fix everything"),
            *_bars("", now_and_then, width, glyphs, "$cause-framework")[1:],
            prose("Savings share time and do not add up: what they share is counted once here.", "$quiet"),
            Content(""),
        ]
    used = [row for row in analysis.steps if row.used]
    if len(used) > 1:
        lines += [
            heading(f"Each {noun} used"),
            *_bars("", {str(row.step): row.dur_ns for row in used}, width, glyphs, "$cause-framework")[1:],
        ]
    return Content("\n").join(lines)


def _bars(title: str, values: dict[str, int], width: int, glyphs: Glyphs, style: str) -> list[Content]:
    items = tuple(Bar(label=label, value=value) for label, value in values.items())
    return evidence(Bars(title=title, unit="ns", bars=items), width, glyphs, style)
