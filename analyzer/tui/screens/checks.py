"""Every rule with its state and reason."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import Screen
from textual.widgets import DataTable, Footer

from analyzer.analysis import Analysis
from analyzer.tui.glyphs import Glyphs
from analyzer.tui.screens.rule_page import RulePage
from analyzer.tui.widgets.check_table import CheckTable
from analyzer.tui.widgets.title_bar import TitleBar


class ChecksScreen(Screen[None]):
    """Mode 5: what was found, passed, not checked and why."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "page", "Rule page", key_display="Enter", id="checks.page", tooltip="The rule's page"),
        Binding("escape", "app.mode('findings')", "Back", show=False, id="checks.back", tooltip="Back to the findings"),
    ]

    def __init__(self, analysis: Analysis, glyphs: Glyphs) -> None:
        super().__init__()
        self._analysis = analysis
        self._glyphs = glyphs

    def compose(self) -> ComposeResult:
        """Title and table."""
        yield TitleBar(self._analysis, "checks", self._glyphs)
        yield CheckTable(self._analysis.checks, self._glyphs)
        yield Footer()

    def on_data_table_row_selected(self, event: DataTable.RowSelected) -> None:
        """Open the rule's page."""
        event.stop()
        self.action_page()

    def action_page(self) -> None:
        """Open the page of the rule under the cursor."""
        check = self.query_one(CheckTable).check
        if check is not None:
            self.app.push_screen(RulePage(check))
