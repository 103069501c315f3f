"""An `Analysis` as Markdown to paste into an issue or a pull request.

The order is that of a reader in a hurry: two numbers, two sentences, a picture, a table; all else is folded. A report that
would be too long for GitHub loses detail in a stated order and says so; it is never cut.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from analyzer.analysis import Analysis, FindingDocument
from analyzer.page import assumed as assuming
from analyzer.page import headline as wording
from analyzer.page.findings import savings
from analyzer.page.findings.card import card_of, lowered
from analyzer.page.findings.groups import counts, notes_are, unit
from analyzer.page.findings.what_if import without
from analyzer.page.ranks import RANK_HEADS, rank_rows
from analyzer.page.recording import RECORD_AGAIN
from analyzer.page.words.vocabulary import MARKS, SEVERITIES
from analyzer.report.markdown import checks
from analyzer.report.markdown.change_table import since
from analyzer.report.markdown.chart import chart
from analyzer.report.markdown.detail import BUDGET, LEVELS, Detail
from analyzer.report.markdown.escape import cell, code, figure, prose
from analyzer.report.markdown.evidence_tables import table
from analyzer.report.markdown.finding import place_of, section
from analyzer.report.markdown.job import job
from analyzer.report.markdown.modules import tree
from analyzer.report.markdown.operators import operators
from analyzer.report.text.findings import IN_FULL
from analyzer.units import count, duration

__all__ = ["render"]


def render(analysis: Analysis, *, redacted: bool = True, budget: int = BUDGET) -> str:
    """The whole report, ending in a newline, at the most detail that fits into `budget` characters."""
    text = ""
    for detail in LEVELS:
        text = "\n\n".join(block for block in _blocks(analysis, detail, redacted) if block) + "\n"
        if len(text) <= budget:
            break
    return text


def _blocks(analysis: Analysis, detail: Detail, redacted: bool) -> Iterator[str]:
    yield f"{_marker(analysis)}\n### {prose(wording.title(analysis))}"
    yield job(analysis)
    if analysis.trust.verdict == "unusable":
        yield from _unusable(analysis)
        yield since(analysis)
    else:
        yield " ".join([f"**{prose(wording.verdict(analysis), 400)}**", *wording.outlook(analysis)])
        yield since(analysis)
        yield chart(analysis)
        yield from _assumed(analysis)
        yield from _findings(analysis, detail)
    yield operators(analysis, detail)
    yield tree(analysis, detail)
    yield _ranks(analysis, detail)
    yield checks.checks(analysis, detail)
    yield checks.trust(analysis)
    yield checks.environment(analysis, redacted)
    yield from checks.footer(analysis, detail)


def _assumed(analysis: Analysis) -> Iterator[str]:
    """What the fixes that were asked for give, and the bar that would be left."""
    assumed = analysis.assumed
    if assumed is None:
        return
    said = " ".join(assuming.sentences(analysis, assumed))
    yield f"**{prose(assuming.heading(assumed), 400)}:** {prose(said, 800)}"
    yield chart(without(analysis, assumed.ids))


def _marker(analysis: Analysis) -> str:
    """A comment by which a program finds its own report again and sees whether anything changed."""
    rules = ",".join(dict.fromkeys(_plain(finding.rule) for finding in analysis.cards[:50]))
    fields = {
        "schema": _plain(analysis.schema_version),
        "tool": _plain(analysis.tool.version),
        "trace-sha256": _plain(analysis.trace.sha256),
        "rules": rules or "none",
    }
    return f"<!-- advisor-report {' '.join(f'{name}={value}' for name, value in fields.items())} -->"


def _plain(text: str) -> str:
    """Letters, digits and points only, so that nothing ends the comment."""
    return re.sub(r"[^A-Za-z0-9.]", "", text)[:64] or "unknown"


def _findings(analysis: Analysis, detail: Detail) -> Iterator[str]:
    cards = [one for one in analysis.cards if detail.small_findings or one.severity in ("high", "medium")]
    cards = cards or list(analysis.cards[:IN_FULL])
    if not cards:
        return
    yield f"**Findings:** {counts(analysis)}."
    yield _table(cards, analysis, detail)
    hidden = len(analysis.cards) - min(len(cards), detail.rows)
    if hidden > 0:
        yield f"{hidden:,} more findings are not listed here."
    for number, finding in enumerate(cards[:IN_FULL]):
        yield section(card_of(finding, analysis), detail, opened=number == 0)
    small = len(analysis.minor)
    if small > 0:
        yield f"{count(small, 'note')}, {notes_are(analysis)}: see the full report."


def _table(cards: list[FindingDocument], analysis: Analysis, detail: Detail) -> str:
    heads = ["", "Finding", "Saves", f"Of the {unit(analysis)}", "Confidence", "Where"]
    rows = [
        [
            f"{MARKS[one.severity]}&nbsp;{SEVERITIES[one.severity]}" + _lowered(one),
            cell(f"{code(one.rule, 12)} {prose(one.title, 80)}" + (" (accepted)" if one.accepted is not None else "")),
            f"{savings.word(one.saving.kind)} {figure(duration(one.saving.stated_ns))}"
            if one.saving.stated_ns > 0
            else "-",
            figure(savings.share_of(one.saving)) if one.saving.stated_ns > 0 else "-",
            one.confidence,
            cell(place_of(card_of(one, analysis)) or "-"),
        ]
        for one in cards[: detail.rows]
    ]
    return table(heads, "llrrll", rows)


def _lowered(one: FindingDocument) -> str:
    short = lowered(one, briefly=True)
    return f" ({cell(prose(short, 80))})" if short else ""


def _ranks(analysis: Analysis, detail: Detail) -> str:
    rows = rank_rows(analysis)
    # With a job they stand on top already.
    if not rows or analysis.job is not None:
        return ""
    most = min(detail.rows, 64)
    more = f"\n\n{len(rows) - most} more ranks are not listed here." if len(rows) > most else ""
    shown = [[figure(text) if place in (1, 3) else text for place, text in enumerate(row)] for row in rows[:most]]
    return f"**Ranks of this job**\n\n{table(RANK_HEADS, 'rrlrl', shown)}{more}"


def _unusable(analysis: Analysis) -> Iterator[str]:
    yield "**The trace was read, but no advice can rest on it.**"
    yield "\n".join(f"- {prose(reason.message, 400)}" for reason in analysis.trust.reasons[:12])
    yield "Record a few warm-up steps, then at least three whole steps, each marked by `prof.step()`:"
    yield "\n".join(["```python", *RECORD_AGAIN, "```"])
