"""The table of all checks."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import DataTable

from analyzer.analysis import Analysis, CheckDocument, SeverityName
from analyzer.page.words.vocabulary import STATES, count_states
from analyzer.tui.look.glyphs import Glyphs
from analyzer.tui.look.plain import line

ORDER = tuple(STATES)
TITLES = ("", "Rule", "State", "Looks for", "Reason")
STATE = 2
# Around each cell; the scroll bar; the least of a reason that still says something.
PADDING, SCROLLBAR, SHORTEST = 2, 2, 12
STYLES = {"crashed": "bold $bad", "clear": "$good"}


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

    def __init__(self, analysis: Analysis, glyphs: Glyphs) -> None:
        super().__init__(id="checks", cursor_type="row", zebra_stripes=False)
        self._severities: dict[str, SeverityName] = {}
        for finding in analysis.findings:
            # The findings of a rule are ranked: its first is its worst.
            self._severities.setdefault(finding.rule, finding.severity)
        self._checks = sorted(analysis.checks, key=lambda check: (ORDER.index(check.state), check.rule))
        self._shown = self._checks
        self._glyphs = glyphs
        self.border_title = "Checks"
        self._count()

    def narrow(self, query: str) -> None:
        """Show only the checks that every word of the query is in: their rule, state, title or reason."""
        words = query.casefold().split()
        self._shown = [check for check in self._checks if all(word in _text(check) for word in words)]
        self._count()
        self._fill()

    def _count(self) -> None:
        if len(self._shown) < len(self._checks):
            self.border_subtitle = f"{len(self._shown)} of {len(self._checks)} match"
            return
        counts = count_states(self._checks)
        words = [f"{counts[state]} {STATES[state]}" for state in ORDER if counts[state]]
        self.border_subtitle = f" {self._glyphs.dot} ".join(words)

    @property
    def check(self) -> CheckDocument | None:
        """The check under the cursor."""
        return self._shown[self.cursor_row] if 0 <= self.cursor_row < len(self._shown) else None

    def on_resize(self) -> None:
        """Fill the table once its width is known: reasons are cut to it. The cursor stays."""
        row = self.cursor_row
        self._fill()
        self.move_cursor(row=row, animate=False)

    def _fill(self) -> None:
        # Cells are content, never markup.
        rows = [self._cells(check) for check in self._shown]
        self.clear(columns=True)
        columns = self._columns(rows)
        for number, width in columns:
            self.add_column(TITLES[number], width=width)
        self.add_rows([[row[number].truncate(width, ellipsis=True) for number, width in columns] for row in rows])

    def _columns(self, rows: list[list[Content]]) -> list[tuple[int, int]]:
        """Which cells, and how wide: the reason takes what is left, and where little is, the line below the table has it."""
        # DataTable cannot measure content.
        widths = [max([len(title), *(row[number].cell_length for row in rows)]) for number, title in enumerate(TITLES)]
        columns = list(enumerate(widths[:-1]))
        room = self.size.width - SCROLLBAR - sum(width + PADDING for _, width in columns)
        if room >= SHORTEST + PADDING:
            return [*columns, (len(columns), min(widths[-1], room - PADDING))]
        if room < 0:
            # The mark and the colour say the state too.
            room += widths[STATE] + PADDING
            columns.pop(STATE)
        last, width = columns[-1]
        return [*columns[:-1], (last, max(SHORTEST, min(width, width + room)))]

    def _cells(self, check: CheckDocument) -> list[Content]:
        style = self._style(check)
        texts = (self._mark(check), check.rule, STATES[check.state], check.title, check.reason)
        return [Content.styled(line(text), style if number < 3 else "") for number, text in enumerate(texts)]

    def _style(self, check: CheckDocument) -> str:
        severity = self._severities.get(check.rule)
        if check.state == "fired" and severity is not None:
            return f"bold $sev-{severity}"
        return STYLES.get(check.state, "$quiet")

    def _mark(self, check: CheckDocument) -> str:
        if check.state == "fired":
            return self._glyphs.severity[self._severities.get(check.rule, "info")]
        return {"clear": self._glyphs.passed, "crashed": "!"}.get(check.state, self._glyphs.unknown)


def _text(check: CheckDocument) -> str:
    return " ".join((check.rule, STATES[check.state], check.title, check.reason)).casefold()
