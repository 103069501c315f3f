"""The verdict in one sentence, and what must be known before believing a figure."""

from __future__ import annotations

from textual.content import Content
from textual.geometry import Size
from textual.reactive import reactive
from textual.widget import Widget

from analyzer import units
from analyzer.analysis import Assumed
from analyzer.page import assumed as words
from analyzer.tui.answer import changes, wording
from analyzer.tui.answer.session import Session
from analyzer.tui.draw.finding import ends, prose
from analyzer.tui.draw.wrapped import wrapped
from analyzer.tui.look.plain import line

# Of the sentence: where lines are short it takes a third.
MOST_LINES, MOST_SHORT_LINES, SHORT_LINE = 2, 3, 60


class Verdict(Widget):
    """One bold line, what changed since the baseline, then remarks: as many as styles leave room for, the rest behind a key."""

    assumed: reactive[Assumed | None] = reactive(None, init=False)
    """What the ticked findings give together; it stands in for the sentence."""

    def __init__(self, session: Session) -> None:
        super().__init__(id="verdict")
        self._analysis = session.analysis
        self._sentence = prose(wording.verdict(session.analysis, session.rank), "bold")
        self._since = [Content(changes.verdict(session.since))] if session.since is not None else []
        self._remarks = [
            Content.assemble(("! ", "bold $sev-medium"), prose(text, "$sev-medium"))
            for text in wording.banners(session.analysis)
        ]

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """A line for each, and as many as it needs for a long sentence, up to `MOST_LINES`."""
        return len(self._lines(width))

    def _lines(self, width: int) -> list[Content]:
        pieces = wrapped(self._answer(), width)
        most = MOST_LINES if width >= SHORT_LINE else MOST_SHORT_LINES
        if len(pieces) > most:
            pieces[most - 1 :] = [Content(" ").join(pieces[most - 1 :])]
        return [*pieces, *self._since, *self._remarks]

    def _answer(self) -> Content:
        if self.assumed is None:
            return self._sentence
        said = " ".join(words.sentences(self._analysis, self.assumed))
        return Content.styled(line(f"{words.heading(self.assumed)}: {said}"), "bold $good")

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
        return Content("\n").join(one.truncate(width, ellipsis=True) for one in shown)
