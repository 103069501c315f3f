"""Mode 3: time per op, op and shape, kernel, module."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container, Vertical
from textual.content import Content
from textual.events import Resize
from textual.message import Message
from textual.reactive import reactive
from textual.widgets import DataTable, Static

from analyzer import units
from analyzer.page.findings.groups import unit, words
from analyzer.tui.answer.operator_work import with_work
from analyzer.tui.answer.session import Session
from analyzer.tui.screens.mode import ModeScreen
from analyzer.tui.screens.operator_page import OperatorPage
from analyzer.tui.widgets.filter_bar import FilterBar
from analyzer.tui.widgets.group_bar import GroupBar
from analyzer.tui.widgets.key_bar import KeyBar
from analyzer.tui.widgets.notice import Notice, only_document
from analyzer.tui.widgets.operator_table import MOST, SORTS, OperatorTable, arrange, columns_for, work_columns
from analyzer.tui.widgets.title_bar import TitleBar
from analyzer.views.operator_rows import GROUPS, Group, OperatorDetail, OperatorRow

NOTHING: dict[Group, str] = {
    "op": "No ops in the used steps. Record with ProfilerActivity.CPU.",
    "shape": "No ops in the used steps. Record with ProfilerActivity.CPU.",
    "kernel": "No device work in the used steps. On a GPU, record with ProfilerActivity.CUDA.",
    "module": "No modules in this trace. Record with with_stack=True (advisor collect --stacks or --modules).",
}
TITLES: dict[Group, str] = {"op": "Operators", "shape": "Operators", "kernel": "Kernels", "module": "Modules"}


class OperatorsScreen(ModeScreen):
    """The table, its groups and its filter."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("slash", "filter", "Find", key_display="/", id="operators.filter", tooltip="Show only some names"),
        Binding("b", "group", "Group by", id="operators.group", tooltip="By op, op and shape, kernel, module"),
        Binding("s", "sort", "Sort", id="operators.sort", tooltip="Sort by the next column"),
        Binding("a", "all", "All", show=False, id="operators.all", tooltip="Show more than the first 500"),
        Binding(
            "escape", "back", "Back", show=False, id="operators.back", tooltip="Clear the filter; back to findings"
        ),
    ]

    group: reactive[Group] = reactive(GROUPS[0], init=False)
    """What a row is."""

    order: reactive[str] = reactive(SORTS[0], init=False)
    """The column sorted by."""

    query_text: reactive[str] = reactive("", init=False)
    """The filter."""

    @dataclass
    class Measured(Message):
        """The rows of a group are there."""

        group: Group
        rows: tuple[OperatorRow, ...]

    @dataclass
    class Opened(Message):
        """The surroundings of a row are there."""

        detail: OperatorDetail

    def __init__(self, session: Session) -> None:
        super().__init__()
        self._session = session
        self._rows: tuple[OperatorRow, ...] | None = None
        self._everything = False

    def compose(self) -> ComposeResult:
        """Title, groups, filter, table."""
        yield TitleBar(self._session, "operators")
        if self._session.measured is None:
            with Container(classes="stage"):
                yield Notice("Operators", only_document("operators"))
        else:
            yield GroupBar(GROUPS)
            with Vertical(id="operators-pane", classes="pane"):
                yield FilterBar("part of a name or shape")
                yield Static(id="nothing")
                yield OperatorTable(self._session.glyphs)
        yield KeyBar()

    def on_mount(self) -> None:
        """Measure."""
        if self._session.measured is not None:
            self.query_one(OperatorTable).focus()
            self._measure(self.group)

    @work(thread=True, exclusive=True, group="measure")
    def _measure(self, group: Group) -> None:
        measured = self._session.measured
        assert measured is not None
        rows = measured.operators(group)
        self.post_message(self.Measured(group, with_work(rows, self._session.analysis) if group == "shape" else rows))

    @work(thread=True, exclusive=True, group="open")
    def _open(self, group: Group, row: OperatorRow) -> None:
        measured = self._session.measured
        assert measured is not None
        self.post_message(self.Opened(measured.operator(group, row)))

    def on_operators_screen_measured(self, message: Measured) -> None:
        """Show the rows."""
        if message.group == self.group:
            self._rows = message.rows
            self._fill()

    def on_operators_screen_opened(self, message: Opened) -> None:
        """Show what is around a row."""
        self.app.push_screen(OperatorPage(message.detail, unit(self._session.analysis)))

    def _fill(self) -> None:
        measured = self._session.measured
        if self._rows is None or measured is None:
            return
        found = arrange(self._rows, self.query_text, self.order)
        shown = found if self._everything else found[:MOST]
        table = self.query_one(OperatorTable)
        columns = columns_for(
            self.size.width,
            device=measured.has_device,
            host=self.group != "kernel",
            tensor=any(row.tensor_core_ratio is not None for row in shown),
            work=work_columns(shown),
        )
        table.show(shown, columns, self.group)
        pane = self.query_one("#operators-pane")
        tree = self.order == SORTS[0] and any(row.depth for row in self._rows)
        pane.border_title = "Modules, each above those it calls" if tree else f"{TITLES[self.group]} by {self.order}"
        pane.border_subtitle = Content(self._count(len(shown), len(found), len(self._rows)))
        message = (
            words(NOTHING[self.group], self._session.analysis)
            if not self._rows
            else f"0 of {len(self._rows)} match. Esc clears."
        )
        self.query_one(GroupBar).show(self.group, words("means per step", self._session.analysis) if found else "")
        # Where one looks: in the place of the rows.
        nothing = self.query_one("#nothing", Static)
        nothing.display = not found
        nothing.update(Content("" if found else message))

    def _count(self, shown: int, found: int, total: int) -> str:
        if shown < found:
            return f"{shown} of {found:,}, a shows all"
        return units.count(found, "row") if found == total else f"{found} of {total:,}"

    def on_resize(self, event: Resize) -> None:
        """Columns for the new width."""
        self.call_after_refresh(self._fill)

    def watch_group(self, group: Group) -> None:
        """Measure the group."""
        self._measure(group)

    def watch_order(self) -> None:
        """Sort."""
        self._fill()

    def watch_query_text(self) -> None:
        """Filter."""
        self._fill()

    def on_filter_bar_queried(self, message: FilterBar.Queried) -> None:
        """Filter while typing."""
        self.query_text = message.query

    def on_filter_bar_left(self, message: FilterBar.Left) -> None:
        """Back to the table."""
        if message.cleared or not self.query_text:
            self.query_one(FilterBar).close()
        self.query_one(OperatorTable).focus()

    def on_group_bar_chosen(self, message: GroupBar.Chosen) -> None:
        """A click on a group."""
        self.group = message.group

    def on_data_table_row_selected(self, event: DataTable.RowSelected) -> None:
        """Open the row."""
        event.stop()
        row = self.query_one(OperatorTable).row
        if row is not None:
            self._open(self.group, row)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """No table keys without a table."""
        return self._session.measured is not None or action not in ("filter", "group", "sort", "all")

    def action_filter(self) -> None:
        """Open the filter line."""
        self.query_one(FilterBar).open()

    def action_group(self) -> None:
        """The next group."""
        self.group = GROUPS[(GROUPS.index(self.group) + 1) % len(GROUPS)]

    def action_sort(self) -> None:
        """The next column."""
        self.order = SORTS[(SORTS.index(self.order) + 1) % len(SORTS)]

    def action_all(self) -> None:
        """Every row."""
        self._everything = True
        self._fill()

    async def action_back(self) -> None:
        """Clear the filter, else go back to the findings."""
        bars = [one for one in self.query(FilterBar) if one.is_open]
        if bars:
            bars[0].close()
        else:
            await self.run_action("app.mode('findings')")
