"""Living with a finding: the question, the lines in the configuration, the mark in the list. Part of the app."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from textual.app import App

from analyzer.analysis import Analysis, FindingDocument
from analyzer.tui.look.plain import line
from analyzer.tui.work.messages import AcceptanceWanted
from traces.errors import UsageError

if TYPE_CHECKING:
    Base = App[Any]
else:
    Base = object


class Acceptance(Base):
    """The app says which configuration was read, which document there is by `analysis`, and shows another one."""

    _config: Path | None
    analysis: Analysis | None

    def show_document(self, analysis: Analysis) -> None:
        """Show the same findings with more to say."""
        raise NotImplementedError

    def on_acceptance_wanted(self, message: AcceptanceWanted) -> None:
        """Ask for the reason; without one nothing is written."""
        from analyzer.config import accepting
        from analyzer.tui.screens.accept import AcceptScreen

        finding = message.finding
        if finding.accepted is not None:
            self.notify(f"{finding.id} is accepted already: {line(finding.accepted)}", markup=False)
            return
        path = accepting.place(Path.cwd(), self._config)
        self.push_screen(AcceptScreen(finding, path), lambda reason: self._accept(finding, reason, path))

    def _accept(self, finding: FindingDocument, reason: str | None, path: Path) -> None:
        from analyzer.config import accepting

        if reason is None or self.analysis is None:
            return
        try:
            accepting.accept(finding.id, reason, path)
        except UsageError as error:
            self.copy_to_clipboard(accepting.lines(finding.id, reason, path))
            why = f"{error.what}{f': {error.why}' if error.why else ''}. The lines are in the clipboard."
            self.notify(line(why, 400), title="Nothing written", severity="warning", markup=False, timeout=8)
            return
        self.show_document(accepting.with_accepted(self.analysis, finding.id, reason))
        self.notify(str(path), title=f"{finding.id} is accepted", markup=False)
