"""Taking a finding away by the clipboard, and a file besides. Part of the findings' screen, in a file of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.screen import Screen

from analyzer.analysis import Analysis, FindingDocument
from analyzer.page.findings.card import card_of
from analyzer.tui.outside import clipboard

if TYPE_CHECKING:
    Base = Screen[None]
else:
    Base = object


class Copying(Base):
    """Copies what is under the cursor."""

    _analysis: Analysis
    _finding: FindingDocument | None

    def action_copy_fix(self) -> None:
        """Copy the change."""
        if self._finding is not None:
            self._copy(clipboard.fix_text(self._finding), f"fix-{self._finding.rule}.txt", "fix")

    def action_copy_finding(self) -> None:
        """Copy the finding as Markdown."""
        if self._finding is not None:
            self._copy(
                clipboard.finding_markdown(card_of(self._finding, self._analysis)),
                f"finding-{self._finding.rule}.md",
                "finding",
            )

    def _copy(self, text: str, name: str, what: str) -> None:
        self.app.copy_to_clipboard(text)
        try:
            where = f"Also in {clipboard.write_copy(text, name)}"
        except OSError as error:
            where = f"No file written: {error.strerror}"
        self.notify(where, title=f"Copied the {what}", markup=False)
