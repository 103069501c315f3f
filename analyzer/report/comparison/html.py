"""A comparison as one HTML file, with the policy and the style of the report: no request, complete without its script."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec
from markupsafe import Markup

from analyzer.analysis import COMPARISON_ID
from analyzer.assemble import tool_version
from analyzer.compare.comparison import Comparison
from analyzer.compare.gate import GateResult
from analyzer.page.changes import differing
from analyzer.page.words import safe
from analyzer.page.words.of_steps import Noun
from analyzer.report.comparison import json, rows
from analyzer.report.drawing import pair
from analyzer.report.drawing.promised import promises
from analyzer.report.drawing.shapes import NARROW, Drawing
from analyzer.report.html import drawn
from analyzer.report.html.prose import embedded, prose
from analyzer.report.html.sheet import Head, Sheet

# A page beyond this opens slowly; the data are in `--format json` too.
_DATA_LIMIT = 2_000_000
# Columns from which on a row of words and figures is wider than a telephone.
_WIDE = 5


@dataclass(frozen=True)
class Page:
    """Everything the template shows."""

    version: str
    title: str
    noun: Noun
    headline: str
    before: str
    after: str
    before_spread: str
    after_spread: str
    answer: Markup
    jobs: tuple[Markup, ...]
    gate_head: str
    gate_lines: tuple[Markup, ...]
    differences: Sheet | None
    bars: Drawing
    narrow_bars: Drawing
    changes: Drawing | None
    narrow_changes: Drawing | None
    promises: Drawing | None
    narrow_promises: Drawing | None
    marks: Drawing | None
    narrow_marks: Drawing | None
    sections: tuple[Sheet, ...]


def render(comparison: Comparison, gate: GateResult | None = None) -> str:
    """The page, ending in a newline."""
    data = embedded(msgspec.json.encode(json.document(comparison, gate)))
    return drawn(
        "comparison.html.j2", _page(comparison, gate), data if len(data) <= _DATA_LIMIT else None, COMPARISON_ID
    )


def _page(comparison: Comparison, gate: GateResult | None) -> Page:
    headline = safe.keep_units(rows.headline(comparison))
    changed = rows.moved(comparison)
    return Page(
        version=safe.name(tool_version(), 24),
        title=f"PyTorch performance comparison: {headline}",
        noun=comparison.noun,
        headline=headline,
        before=rows.side_names(comparison.before),
        after=rows.side_names(comparison.after),
        before_spread=safe.keep_units(rows.spread(comparison.before, comparison.noun)),
        after_spread=safe.keep_units(rows.spread(comparison.after, comparison.noun)),
        answer=prose(rows.answer(comparison), 1_200),
        jobs=tuple(prose(line, 1_200) for line in rows.of_jobs(comparison)),
        gate_head="" if gate is None else "The gate " + rows.gate_state(gate).replace("kept", "was kept"),
        gate_lines=tuple(prose(line) for line in gate.lines) if gate is not None else (),
        differences=_differences(comparison),
        bars=pair.bars(comparison),
        narrow_bars=pair.bars(comparison, NARROW),
        changes=pair.changes(changed, noun=comparison.noun) if changed else None,
        narrow_changes=pair.changes(changed, NARROW, comparison.noun) if changed else None,
        promises=promises(comparison),
        narrow_promises=promises(comparison, NARROW),
        marks=pair.marks(comparison),
        narrow_marks=pair.marks(comparison, NARROW),
        sections=tuple(_section(comparison, *table) for table in rows.tables(comparison)),
    )


def _differences(comparison: Comparison) -> Sheet | None:
    found = differing(comparison.differences)
    heads = tuple(Head(text) for text in ("What", "Before", "After", "Effect"))
    return Sheet("Conditions that are not the same on both sides", heads, found) if found else None


def _section(comparison: Comparison, title: str, heads: tuple[str, ...], body: list[tuple[str, ...]]) -> Sheet:
    words = {"cause", "operator", "kernel", "op", "state", "rule", "came true", "job"}
    below = rows.of_new_ones(comparison) if heads[0] == "state" else ""
    return Sheet(
        title, tuple(Head(head, head not in words) for head in heads), body, below, stacked=len(heads) >= _WIDE
    )
