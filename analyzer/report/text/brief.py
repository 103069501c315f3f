"""The answer on one screen: verdict, bar, findings, and what to change first. A pipe gets this unless it asks for more."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from analyzer.analysis import Analysis
from analyzer.page.findings.card import card_of
from analyzer.page.findings.groups import first_to_change
from analyzer.page.step.waterfall import by_size
from analyzer.page.words import safe
from analyzer.report.style import Style
from analyzer.report.text import card, chart, findings
from analyzer.report.text.heading import heading
from analyzer.units import count

_MOST_FINDINGS = 5
_MOST_FIX_LINES = 9
# Of words where there is code, and of code where there are words.
_MOST_FIX_WORDS = 5
# Parts of the bar below this share are told together.
_SMALL_RATIO = 0.02
_WHOLE = "In full: add --full, or write a page with -o report.html"


def bar_lines(analysis: Analysis, style: Style) -> Iterator[str]:
    """The bar of a mean step, and its largest parts in a line or two."""
    yield from filter(None, chart.head_lines(analysis, style))
    parts = by_size(analysis)
    named = [f"{part.label} {part.time}" for part in parts if part.ratio >= _SMALL_RATIO]
    left = len(parts) - len(named)
    named += [f"{left} smaller"] if left else []
    yield from (f"  {style.paint(text, 'dim')}" for text in _filled(named, style.width - 2))


def _filled(parts: Sequence[str], width: int) -> Iterator[str]:
    """The parts with commas between, in lines of `width` columns; a name stays beside its figure."""
    line = ""
    for number, part in enumerate(parts, 1):
        piece = part + ("," if number < len(parts) else "")
        joined = f"{line} {piece}".lstrip()
        if line and safe.columns(joined) > width:
            yield line
            joined = piece
        line = joined
    yield from safe.wrap(line, width)


def finding_lines(analysis: Analysis, style: Style) -> Iterator[str]:
    """The largest findings, a line each."""
    every = [line for line in findings.lines(analysis, style) if line]
    cards = len(analysis.cards)
    yield from every[: len(every) - max(cards - _MOST_FINDINGS, 0)] if cards else every
    if cards > _MOST_FINDINGS:
        yield style.paint(f"and {cards - _MOST_FINDINGS} more", "dim")


def fix_lines(analysis: Analysis, style: Style) -> Iterator[str]:
    """What to change first, and how to see that it worked."""
    first = first_to_change(analysis)
    if first is None:
        return
    shown = card_of(first, analysis)
    yield from heading(f"First: {shown.rule} {shown.title}", shown.where or "", style)
    words, code = list(card.fix_words(first.fix[0], 0, style)), list(card.fix_code(first.fix[0], style))
    # On a narrow screen the words alone would fill it: what is to be changed is the code.
    most = max(_MOST_FIX_WORDS, _MOST_FIX_LINES - len(code))
    yield from words[: most - 1] if len(words) > most else words
    if len(words) > most:
        last = words[most - 1]
        yield f"{last if safe.columns(last) + 2 <= style.width else last.rsplit(' ', 1)[0]} …"
    most = max(_MOST_FIX_WORDS, _MOST_FIX_LINES - len(words))
    # A line that says that one more follows takes the room of that one.
    most += len(code) == most + 1
    yield from code[:most]
    if len(code) > most:
        yield style.paint(f"            … {count(len(code) - most, 'more line')}", "dim")
    yield from card.labelled("Check", first.verify, style)


def more_lines(style: Style) -> Iterator[str]:
    """Where the rest is."""
    yield from (style.paint(line, "dim") for line in safe.wrap(_WHOLE, style.width))
