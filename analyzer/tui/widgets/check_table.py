"""The table of all checks."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import DataTable

from analyzer.analysis import CheckDocument, StateName
from analyzer.tui import wording
from analyzer.tui.glyphs import Glyphs
from analyzer.tui.plain import line

ORDER: tuple[StateName, ...] = (
    "fired", "crashed", "cannot_tell", "suppressed", "clear", "not_applicable", "disabled",
)  # fmt: skip
STYLES = {"fired": "bold $sev-medium", "crashed": "bold $bad", "clear": "$good"}


class CheckTable(DataTable[Content]):
    """One row per rule; found ones first, then what could not be decided."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j,down", "cursor_down", "Down", show=False, id="checks.down", tooltip="The row below"),
        Binding("k,up", "cursor_up", "Up", show=False, id="checks.up", tooltip="The row above"),
        Binding(
            "enter", "select_cursor", "Rule page", key_display="Enter", id="checks.page", tooltip="The rule's page"
        ),
        Binding("g,home", "scroll_top", "First", show=False, id="checks.first", tooltip="The first row"),
        Binding("G,end", "scroll_bottom", "Last", show=False, id="checks.last", tooltip="The last row"),
    ]

    def __init__(self, checks: Iterable[CheckDocument], glyphs: Glyphs) -> None:
        super().__init__(id="checks", cursor_type="row", zebra_stripes=False)
        self._checks = sorted(checks, key=lambda check: (ORDER.index(check.state), check.rule))
        self._glyphs = glyphs
        counts = wording.count_states(self._checks)
        words = [f"{counts[state]} {wording.STATE_WORDS[state]}" for state in ORDER if counts[state]]
        self.border_title = "Checks"
        self.border_subtitle = f" {glyphs.dot} ".join(words)

    @property
    def check(self) -> CheckDocument | None:
        """The check under the cursor."""
        return self._checks[self.cursor_row] if self.row_count else None

    def on_mount(self) -> None:
        """Fill the table; cells are content, never markup."""
        rows = [self._cells(check) for check in self._checks]
        for number, title in enumerate(("", "Rule", "State", "Title", "Reason")):
            # DataTable cannot measure content.
            self.add_column(title, width=max([len(title), *(row[number].cell_length for row in rows)]))
        for row in rows:
            self.add_row(*row)

    def _cells(self, check: CheckDocument) -> list[Content]:
        style = STYLES.get(check.state, "$quiet")
        texts = (self._mark(check.state), check.rule, wording.STATE_WORDS[check.state], check.title, check.reason)
        return [Content.styled(line(text), style if number < 3 else "") for number, text in enumerate(texts)]

    def _mark(self, state: StateName) -> str:
        marks = {"fired": self._glyphs.severity["high"], "clear": self._glyphs.passed, "crashed": "!"}
        return marks.get(state, self._glyphs.unknown)
