"""The verdict in one sentence, and what must be known before believing a figure."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Static

from analyzer.analysis import Analysis
from analyzer.tui import wording
from analyzer.tui.plain import line

MOST_BANNERS = 3


class Verdict(Vertical):
    """One bold line, then at most three banners; short screens show the first one only (styles)."""

    def __init__(self, analysis: Analysis) -> None:
        super().__init__(id="verdict")
        self._analysis = analysis

    def compose(self) -> ComposeResult:
        """The sentence and the banners, the most important first."""
        text = line(self._analysis.summary.verdict.text)
        yield Static(Content.styled(text[:1].upper() + text[1:], "bold"), classes="sentence")
        banners = wording.banners(self._analysis)
        for number, text in enumerate(banners[:MOST_BANNERS]):
            more = len(banners) - MOST_BANNERS
            rest = f"  (and {more} more)" if more > 0 and number == MOST_BANNERS - 1 else ""
            content = Content.assemble(("! ", "bold $sev-medium"), (text, "$sev-medium"), (rest, "$quiet"))
            yield Static(content, classes="banner" if number == 0 else "banner -later")
