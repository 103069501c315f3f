"""The boxes to tick on a page: what fixing a choice of findings gives. The page's script does the sum, from the document."""

from __future__ import annotations

from dataclasses import dataclass

from analyzer.analysis import Analysis
from analyzer.page import assumed as words
from analyzer.page.findings.card import card_of
from analyzer.page.findings.savings import word
from analyzer.page.findings.what_if import choices
from analyzer.page.headline import added_ns, each
from analyzer.page.words import safe
from analyzer.page.words.vocabulary import CAUSES
from analyzer.report.drawing.shapes import cause_class


@dataclass(frozen=True)
class Choice:
    """A finding to tick."""

    id: str
    rule: str
    title: str
    worth: str
    ticked: bool


@dataclass(frozen=True)
class Cause:
    """What the script needs to draw a cause."""

    key: str
    kind: str
    name: str


@dataclass(frozen=True)
class WhatIf:
    """The section: its boxes, and what was assumed when the page was written, in words that need no script."""

    choices: tuple[Choice, ...]
    causes: tuple[Cause, ...]
    each: str
    bound: str
    estimate: str
    added_ns: int
    profilers: str
    said: str


def section(analysis: Analysis, *, with_data: bool) -> WhatIf | None:
    """The section; None where nothing can be chosen, or the page holds no document to sum from."""
    ids, assumed = choices(analysis), analysis.assumed
    if analysis.trust.verdict == "unusable":
        return None
    said = f"{words.heading(assumed)}: {' '.join(words.sentences(analysis, assumed))}" if assumed is not None else ""
    ticked = assumed.ids if assumed is not None else ()
    cards = [card_of(one, analysis) for one in analysis.findings if one.id in ids or one.id in ticked]
    shown = tuple(
        Choice(card.finding.id, card.rule, card.title, card.worth, card.finding.id in ticked) for card in cards
    )
    if not (with_data and shown) and not said:
        return None
    causes = tuple(Cause(cause, cause_class(cause), name) for cause, name in CAUSES.items())
    return WhatIf(
        shown if with_data else (),
        causes,
        each(analysis),
        word("bound"),
        word("estimate"),
        added_ns(analysis),
        words.PROFILERS,
        safe.keep_units(safe.clean(said)),
    )
