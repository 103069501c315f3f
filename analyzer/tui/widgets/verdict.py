"""The verdict in one sentence, and what must be known before believing a figure."""

from __future__ import annotations

from textual.content import Content
from textual.geometry import Size
from textual.widget import Widget

from analyzer import units
from analyzer.tui import changes, wording
from analyzer.tui.draw.finding import ends
from analyzer.tui.session import Session

# Of the sentence.
MOST_LINES = 2


class Verdict(Widget):
    """One bold line, what changed since the baseline, then remarks: as many as styles leave room for, the rest behind a key."""

    def __init__(self, session: Session) -> None:
        super().__init__(id="verdict")
        self._sentence = Content.styled(wording.verdict(session.analysis, session.rank), "bold")
        self._since = [Content(changes.verdict(session.since))] if session.since is not None else []
        self._remarks = [
            Content.assemble(("! ", "bold $sev-medium"), (text, "$sev-medium"))
            for text in wording.banners(session.analysis)
        ]

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """A line for each, and a second one for a long sentence."""
        return len(self._lines(width))

    def _lines(self, width: int) -> list[Content]:
        pieces = list(self._sentence.wrap(max(1, width)))
        if len(pieces) > MOST_LINES:
            pieces[MOST_LINES - 1 :] = [Content(" ").join(pieces[MOST_LINES - 1 :])]
        return [*pieces, *self._since, *self._remarks]

    def render(self) -> Content:
        """What fits; the last line says how many more there are, and what shows them whole."""
        width, height = self.size
        lines = self._lines(width)
        shown = lines[: max(1, height)]
        left = min(len(lines) - len(shown), len(self._remarks))
        if left or any(remark.cell_length > width for remark in self._remarks):
            more = units.count(left, "more remark") if left else "all of it"
            hint = Content.assemble(("! ", "bold $key"), (more, "$quiet"))
            shown[-1] = ends(shown[-1], hint, width)
        return Content("\n").join(line.truncate(width, ellipsis=True) for line in shown)
