"""Applying a finding: the editor at its place, and the way to the proof that the change helped. Part of the app."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

from textual.app import App, SuspendNotSupported

from analyzer.analysis import Analysis
from analyzer.page.findings.card import card_of
from analyzer.tui.outside import programs as outside
from analyzer.tui.work.messages import EditWanted, ProveWanted

if TYPE_CHECKING:
    from analyzer.tui.answer.opened import Opened

    Base = App[Any]
else:
    Base = object


class Applying(Base):
    """Leaves the program where it is: nothing is changed for the reader."""

    analysis: Analysis | None
    _opened: Opened | None
    _path: Path | None
    _shown: int

    def on_edit_wanted(self, message: EditWanted) -> None:
        """Open the finding's place in the editor, and come back."""
        location = message.finding.location
        command = outside.editor_command(location) if location else None
        if command is None:
            place = card_of(message.finding, self.analysis).where if self.analysis is not None else None
            said = f"{place} is not here, or $EDITOR is not set" if place else "No place in your code is known"
            self.notify(said, markup=False)
            return
        try:
            with self.suspend():
                subprocess.run(command, check=False)
        except (SuspendNotSupported, OSError) as error:
            self.notify(f"The editor could not be started: {error}", markup=False)

    def on_prove_wanted(self, message: ProveWanted) -> None:
        """Show how to apply the change, and how to prove it."""
        from analyzer.page.findings.proof import proof
        from analyzer.tui.screens.prove import ProvePage

        if self._opened is None or self.analysis is None:
            return
        facts = self._opened.explained[self._shown].facts
        path = self._opened.path(self._shown)
        trace = str(path) if path is not None else self.analysis.trace.name
        recorded_by = facts.recording.collected.command if facts is not None else ()
        way = proof(card_of(message.finding, self.analysis), trace, recorded_by)
        self.push_screen(ProvePage(message.finding, way))
