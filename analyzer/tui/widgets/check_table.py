"""The table of all checks."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.content import Content

from analyzer.analysis import Analysis, CheckDocument, SeverityName
from analyzer.page.words.vocabulary import STATES, count_states
from analyzer.tui.look.glyphs import Glyphs
from analyzer.tui.look.plain import line
from analyzer.tui.widgets.filling_table import BETWEEN, FillingTable, Heading, joined, taken

ORDER = tuple(STATES)
TITLES = ("", "Rule", "State", "Looks for", "Reason")
STATE = 2
# The scroll bar; the least of a reason that still says something.
SCROLLBAR, SHORTEST = 2, 12
STYLES = {"crashed": "bold $bad", "clear": "$good"}


class CheckTable(FillingTable):
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
        super().__init__(id="checks")
        self._severities: dict[str, SeverityName] = {}
        for finding in analysis.findings:
            # The findings of a rule are ranked: its first is its worst.
            self._severities.setdefault(finding.rule, finding.severity)
        self._checks = sorted(analysis.checks, key=lambda check: (ORDER.index(check.state), check.rule))
        self._shown = self._checks
        self._glyphs = glyphs
        self._width = 0
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
        if self.size.width != self._width:
            self._fill(row + 1)
            self.move_cursor(row=row, animate=False)

    def _fill(self, least: int = 0) -> None:
        self._width = self.size.width
        # Cells are content, never markup.
        rows = [self._cells(check) for check in self._shown]
        columns = self._columns(rows)
        headings = [heading for _, heading in columns]
        self.fill(headings, (joined([row[at] for at, _ in columns], headings) for row in rows), least)

    def _columns(self, rows: list[list[Content]]) -> list[tuple[int, Heading]]:
        """Which cell under which heading: the reason takes what is left, and where little is, the line below has it."""
        widths = [max([len(title), *(row[at].cell_length for row in rows)]) for at, title in enumerate(TITLES)]
        columns = [(at, Heading(title, widths[at])) for at, title in enumerate(TITLES[:-1])]
        room = self.size.width - SCROLLBAR - taken([heading for _, heading in columns])
        if room >= SHORTEST + len(BETWEEN):
            return [*columns, (len(columns), Heading(TITLES[-1], min(widths[-1], room - len(BETWEEN))))]
        if room < 0:
            # The mark and the colour say the state too.
            room += widths[STATE] + len(BETWEEN)
            columns.pop(STATE)
        at, last = columns[-1]
        return [*columns[:-1], (at, Heading(last.title, max(SHORTEST, min(last.width, last.width + room))))]

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
