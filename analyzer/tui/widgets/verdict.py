"""The verdict in one sentence, and what must be known before believing a figure."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Static

from analyzer.tui import changes, wording
from analyzer.tui.session import Session

MOST_BANNERS = 3


class Verdict(Vertical):
    """One bold line, then at most three banners; short screens show the first one only (styles)."""

    def __init__(self, session: Session) -> None:
        super().__init__(id="verdict")
        self._session = session

    def compose(self) -> ComposeResult:
        """The sentence and the banners, the most important first."""
        text = wording.verdict(self._session.analysis, self._session.rank)
        yield Static(Content.styled(text, "bold"), classes="sentence")
        if self._session.since is not None:
            yield Static(Content(changes.verdict(self._session.since)), classes="banner")
        banners = wording.banners(self._session.analysis)
        for number, text in enumerate(banners[:MOST_BANNERS]):
            more = len(banners) - MOST_BANNERS
            rest = f"  (and {more} more)" if more > 0 and number == MOST_BANNERS - 1 else ""
            content = Content.assemble(("! ", "bold $sev-medium"), (text, "$sev-medium"), (rest, "$quiet"))
            yield Static(content, classes="banner" if number == 0 and self._session.since is None else "banner -later")
