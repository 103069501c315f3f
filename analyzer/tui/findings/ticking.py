"""What if: findings are ticked, and the screen draws the step that would be left. Part of the findings' screen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.screen import Screen

from analyzer.analysis import Analysis, FindingDocument
from analyzer.page.findings.groups import unit
from analyzer.page.findings.what_if import without
from analyzer.tui.widgets.finding_list import FindingList
from analyzer.tui.widgets.step_strip import StepStrip
from analyzer.tui.widgets.verdict import Verdict

if TYPE_CHECKING:
    Base = Screen[None]
else:
    Base = object


class Ticking(Base):
    """Keeps what is ticked."""

    _analysis: Analysis
    _finding: FindingDocument | None
    _ticked: frozenset[str] = frozenset()

    def action_tick(self) -> None:
        """Fix the finding under the cursor, or not: headline, bar and lanes show the step that would be left."""
        finding = self._finding
        if finding is None:
            return
        if self._analysis.what_if is None or finding.id not in self._analysis.what_if.ids:
            self.notify(f"{finding.rule} saves nothing inside the {unit(self._analysis)}", markup=False)
            return
        self._ticked ^= {finding.id}
        self.show_what_if()

    def show_what_if(self) -> None:
        """Draw the step without what is ticked."""
        left = without(self._analysis, self._ticked)
        self.query_one(StepStrip).shown = left
        self.query_one(Verdict).assumed = left.assumed
        self.query_one(FindingList).tick(self._ticked)
