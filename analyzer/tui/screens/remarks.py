"""What must be known before believing a figure, in full; opened by !."""

from __future__ import annotations

from collections.abc import Sequence

from textual.content import Content

from analyzer.tui.draw.finding import prose
from analyzer.tui.draw.wrapped import wrapped
from analyzer.tui.screens.text_page import TextPage


class RemarksScreen(TextPage):
    """The remarks over the findings.

    Args:
        remarks: The most important first.
    """

    def __init__(self, remarks: Sequence[str]) -> None:
        super().__init__(Content("Before you believe a figure"))
        self._remarks = remarks

    def text(self, width: int) -> Content:
        """A paragraph for each."""
        lines = []
        for remark in self._remarks:
            first, *others = wrapped(prose(remark), width - 2)
            lines.append(Content.assemble(("! ", "bold $sev-medium"), first))
            lines += [Content("  ") + other for other in others]
            lines.append(Content(""))
        return Content("\n").join(lines[:-1])
