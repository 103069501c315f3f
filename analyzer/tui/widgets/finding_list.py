"""The list of findings, and under it what became of the other checks."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.content import Content
from textual.message import Message
from textual.widgets import ListItem, ListView

from analyzer.analysis import FindingDocument, StateName
from analyzer.page.findings.card import card_of
from analyzer.page.words.vocabulary import STATES, count_states
from analyzer.tui.answer import changes, wording
from analyzer.tui.answer.session import Session
from analyzer.tui.look.plain import line
from analyzer.tui.widgets.finding_row import FindingRow
from analyzer.tui.widgets.text_row import TextRow


class FindingList(ListView):
    """Findings in the order given, under headings where they have some; the cursor's finding is announced."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j,down", "cursor_down", "Down", show=False, id="list.down", tooltip="The finding below"),
        Binding("k,up", "cursor_up", "Up", show=False, id="list.up", tooltip="The finding above"),
        Binding("g,home", "first", "First", show=False, id="list.first", tooltip="The first finding"),
        Binding("G,end", "last", "Last", show=False, id="list.last", tooltip="The last finding"),
        Binding("pagedown", "page(1)", "Page down", show=False, id="list.pagedown", tooltip="A page down"),
        Binding("pageup", "page(-1)", "Page up", show=False, id="list.pageup", tooltip="A page up"),
        Binding("enter", "select_cursor", "Open", show=False, id="list.open", tooltip="Open the finding"),
    ]

    @dataclass
    class Moved(Message):
        """The cursor is on another finding, or on none."""

        finding: FindingDocument | None
        position: int
        total: int

    def __init__(self, session: Session) -> None:
        super().__init__(id="list")
        self._session = session
        self._analysis = analysis = session.analysis
        self._glyphs = session.glyphs
        self._cards = {finding.id for finding in analysis.cards}
        self._largest_ns = max((one.saving.expected_ns for one in analysis.findings), default=0)
        self._rows: tuple[FindingRow, ...] = ()

    @property
    def finding(self) -> FindingDocument | None:
        """The finding under the cursor."""
        child = self.highlighted_child
        return child.finding if isinstance(child, FindingRow) else None

    @property
    def shown(self) -> list[FindingDocument]:
        """The findings in the list."""
        return [row.finding for row in self._rows]

    async def show(self, groups: Sequence[changes.Group], empty: str, keep: str | None = None) -> None:
        """Show these findings; the cursor stays on `keep` where that is still there.

        Args:
            groups: In order, each with its heading.
            empty: What to say where there is none.
            keep: The id of the finding to stay on.
        """
        since, glyphs = self._session.since, self._glyphs
        # What is gone comes first: who compares asks whether the change worked.
        rows: list[ListItem] = [_line(one) for one in (changes.fixed(since, glyphs) if since else ())]
        for heading, findings in groups:
            if heading:
                rows.append(TextRow(Content.styled(line(heading), "bold $heading"), "group"))
            rows += [self._row(one) for one in findings]
        ticked = {row.finding.id for row in self._rows if row.ticked}
        self._rows = tuple(row for row in rows if isinstance(row, FindingRow))
        self.tick(ticked)
        if not self._rows:
            rows.append(TextRow(Content(empty), "empty"))
        rows += [_line(one) for one in (changes.unchecked(since, glyphs) if since else ())]
        await self.clear()
        await self.extend([*rows, *self._tail()])
        kept = [row for row in self._rows if row.finding.id == keep] or self._rows[:1]
        self.index = rows.index(kept[0]) if kept else None
        self._announce()

    def _row(self, finding: FindingDocument) -> FindingRow:
        return FindingRow(
            card_of(finding, self._analysis),
            self._glyphs,
            of_cards=finding.id in self._cards,
            largest_ns=self._largest_ns,
            seen_on=self._session.seen_on.get(finding.id, ""),
        )

    def tick(self, ids: Collection[str]) -> None:
        """Mark the findings that are assumed fixed."""
        for row in self._rows:
            row.ticked = row.finding.id in ids

    def replace(self, findings: Mapping[str, FindingDocument]) -> None:
        """The same findings by their ids, with more to show."""
        for row in self._rows:
            row.card = card_of(findings.get(row.finding.id, row.finding), self._analysis)
            row.refresh()
        self._announce()

    def _tail(self) -> list[ListItem]:
        counts = count_states(self._analysis.checks)
        missing = ", ".join(wording.missing_options(self._analysis.checks))
        told: tuple[tuple[StateName, str, str, str], ...] = (
            ("clear", f"{self._glyphs.passed} ", "$good", "5 shows them"),
            ("cannot_tell", f"{self._glyphs.unknown} ", "$quiet", missing),
            ("crashed", "! ", "bold $sev-medium", "5 shows it"),
        )
        lines = [
            Content.assemble((mark, style), f"{counts[state]} {STATES[state]}", (f"   {more}", "$quiet"))
            for state, mark, style, more in told
            if counts[state]
        ]
        return [TextRow(text, "tail") for text in lines]

    def on_list_view_highlighted(self, event: ListView.Highlighted) -> None:
        """Announce the finding under the cursor."""
        event.stop()
        self._announce()

    def _announce(self) -> None:
        self.post_message(self.Moved(self.finding, self._position() + 1, len(self._rows)))

    def _position(self) -> int:
        """The cursor's finding among those shown, -1 where it is on none."""
        child = self.highlighted_child
        return self._rows.index(child) if isinstance(child, FindingRow) and child in self._rows else -1

    def move(self, by: int) -> None:
        """Move the cursor, staying inside."""
        if self._rows:
            self._go(max(0, min(len(self._rows) - 1, max(0, self._position()) + by)))

    def _go(self, position: int) -> None:
        self.index = self.children.index(self._rows[position])

    def select(self, identity: str) -> None:
        """Put the cursor on the finding with this id, if it is shown."""
        ids = [one.id for one in self.shown]
        if identity in ids:
            self._go(ids.index(identity))

    def action_first(self) -> None:
        """Go to the first finding."""
        self.move(-len(self._rows))

    def action_last(self) -> None:
        """Go to the last finding."""
        self.move(len(self._rows))

    def action_page(self, direction: int) -> None:
        """Move by as many rows as are visible."""
        child = self.highlighted_child
        rows = max(1, self.size.height // max(1, child.size.height if child else 1))
        self.move(direction * rows)

    @staticmethod
    def nothing(query: str, total: int) -> str:
        """What the list says where the filter leaves nothing."""
        return f"0 of {total} match {line(query, 60)}. Esc clears."


def _line(one: changes.Line) -> TextRow:
    return TextRow(one[0], "group", one[1])
