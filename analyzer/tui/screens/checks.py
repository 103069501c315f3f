"""Every rule with its state and reason."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import DataTable, Static

from analyzer.tui.answer.session import Session
from analyzer.tui.draw.finding import prose
from analyzer.tui.look.plain import line
from analyzer.tui.screens.mode import ModeScreen
from analyzer.tui.screens.rule_page import RulePage
from analyzer.tui.widgets.check_table import CheckTable
from analyzer.tui.widgets.filter_bar import FilterBar
from analyzer.tui.widgets.key_bar import KeyBar
from analyzer.tui.widgets.title_bar import TitleBar


class ChecksScreen(ModeScreen):
    """Mode 5: what was found, passed, not checked and why."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("slash", "filter", "Filter", key_display="/", id="checks.filter", tooltip="Show only some checks"),
        Binding(
            "escape",
            "back",
            "Findings",
            key_display="Esc",
            id="checks.back",
            tooltip="Clear the filter; back to findings",
        ),
    ]

    def __init__(self, session: Session) -> None:
        super().__init__()
        self._session = session
        self._analysis = session.analysis
        self._glyphs = session.glyphs

    def compose(self) -> ComposeResult:
        """Title and table."""
        yield TitleBar(self._session, "checks")
        # The line is docked to the top of what it filters.
        with Vertical():
            yield FilterBar("part of a rule, title, reason or state: passed, not applicable")
            yield CheckTable(self._analysis, self._glyphs)
        yield Static(id="reason")
        yield KeyBar()

    def on_mount(self) -> None:
        """The table has the keys."""
        self.query_one(CheckTable).focus()

    def on_filter_bar_queried(self, message: FilterBar.Queried) -> None:
        """Filter while typing."""
        self.query_one(CheckTable).narrow(message.query)
        if self.query_one(CheckTable).check is None:
            self.query_one("#reason", Static).update("None matches. Esc clears.")

    def on_filter_bar_left(self, message: FilterBar.Left) -> None:
        """Back to the table; the line stays while it filters."""
        bar = self.query_one(FilterBar)
        if message.cleared or not bar.value:
            bar.close()
        self.query_one(CheckTable).focus()

    def action_filter(self) -> None:
        """Open the filter line."""
        self.query_one(FilterBar).open()

    async def action_back(self) -> None:
        """Clear the filter, else go back to the findings."""
        bar = self.query_one(FilterBar)
        if bar.is_open:
            bar.close()
            self.query_one(CheckTable).focus()
        else:
            await self.run_action("app.mode('findings')")

    def on_data_table_row_highlighted(self, event: DataTable.RowHighlighted) -> None:
        """The whole reason of the check under the cursor, below the table."""
        event.stop()
        check = self.query_one(CheckTable).check
        if check is not None:
            self.query_one("#reason", Static).update(
                Content.assemble((f"{check.rule}  ", "bold"), prose(line(check.reason), "$quiet"))
            )

    def on_data_table_row_selected(self, event: DataTable.RowSelected) -> None:
        """Open the rule's page."""
        event.stop()
        check = self.query_one(CheckTable).check
        if check is not None:
            self.app.push_screen(RulePage(check))
