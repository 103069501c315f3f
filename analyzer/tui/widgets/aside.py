"""The remarks before the headline: which rank this is, and what a step takes without the profiler."""

from __future__ import annotations

from textual.content import Content
from textual.widget import Widget

from analyzer.tui.answer import wording
from analyzer.tui.answer.session import Session


class Aside(Widget):
    """As many remarks as there is room for, each whole or not at all; the rank before all."""

    def __init__(self, session: Session) -> None:
        super().__init__(id="aside")
        rank, without = session.rank, wording.unprofiled(session.analysis)
        self._remarks = [f"r: rank {rank.rank} of {session.ranks}"] if rank is not None else []
        self._remarks += [f"({without})"] if without else []

    def render(self) -> Content:
        """The remarks."""
        shown = list(self._remarks)
        while shown and len("  ".join(shown)) > self.size.width:
            shown.pop()
        return Content("  ".join(shown))
