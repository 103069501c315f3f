"""The list of findings, and under it what became of the other checks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.content import Content
from textual.message import Message
from textual.widgets import Label, ListItem, ListView

from analyzer import units
from analyzer.analysis import Analysis, FindingDocument
from analyzer.tui import wording
from analyzer.tui.glyphs import Glyphs
from analyzer.tui.plain import line
from analyzer.tui.widgets.finding_row import FindingRow


class FindingList(ListView):
    """Findings in the order given; the cursor's finding is announced."""

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

    def __init__(self, analysis: Analysis, glyphs: Glyphs) -> None:
        super().__init__(id="list")
        self._analysis = analysis
        self._glyphs = glyphs
        self._cards = {finding.id for finding in analysis.cards}
        self._largest_ns = max((one.saving.ns_per_step_max for one in analysis.findings), default=0)
        self._shown: tuple[FindingDocument, ...] = ()

    @property
    def finding(self) -> FindingDocument | None:
        """The finding under the cursor."""
        child = self.highlighted_child
        return child.finding if isinstance(child, FindingRow) else None

    async def show(self, findings: Sequence[FindingDocument], empty: str, keep: str | None = None) -> None:
        """Show these findings; the cursor stays on `keep` where that is still there.

        Args:
            findings: In order.
            empty: What to say where there is none.
            keep: The id of the finding to stay on.
        """
        self._shown = tuple(findings)
        await self.clear()
        rows: list[ListItem] = [
            FindingRow(one, self._glyphs, card=one.id in self._cards, largest_ns=self._largest_ns) for one in findings
        ]
        if not rows:
            rows = [ListItem(Label(Content(empty)), disabled=True, classes="empty")]
        await self.extend([*rows, *self._tail()])
        ids = [one.id for one in findings]
        self.index = ids.index(keep) if keep in ids else (0 if ids else None)
        self._announce()

    def _tail(self) -> list[ListItem]:
        counts = wording.count_states(self._analysis.checks)
        lines = []
        if counts["clear"]:
            passed = units.count(counts["clear"], "check passed", "checks passed")
            lines.append(Content.assemble((f"{self._glyphs.passed} ", "$good"), passed, ("   5 shows them", "$quiet")))
        if counts["cannot_tell"]:
            missing = ", ".join(wording.missing_options(self._analysis.checks))
            unknown = f"{counts['cannot_tell']} not checked"
            lines.append(Content.assemble((f"{self._glyphs.unknown} ", "$quiet"), unknown, (f"   {missing}", "$quiet")))
        if counts["crashed"]:
            crashed = f"{counts['crashed']} ended in an error"
            lines.append(Content.assemble(("! ", "bold $sev-medium"), crashed, ("   5 shows it", "$quiet")))
        return [ListItem(Label(text), disabled=True, classes="tail") for text in lines]

    def on_list_view_highlighted(self, event: ListView.Highlighted) -> None:
        """Announce the finding under the cursor."""
        event.stop()
        self._announce()

    def _announce(self) -> None:
        finding = self.finding
        position = self._shown.index(finding) + 1 if finding in self._shown else 0
        self.post_message(self.Moved(finding, position, len(self._shown)))

    def move(self, by: int) -> None:
        """Move the cursor, staying inside."""
        if self._shown:
            self.index = max(0, min(len(self._shown) - 1, (self.index or 0) + by))

    def select(self, identity: str) -> None:
        """Put the cursor on the finding with this id, if it is shown."""
        ids = [one.id for one in self._shown]
        if identity in ids:
            self.index = ids.index(identity)

    def action_first(self) -> None:
        """Go to the first finding."""
        self.move(-len(self._shown))

    def action_last(self) -> None:
        """Go to the last finding."""
        self.move(len(self._shown))

    def action_page(self, direction: int) -> None:
        """Move by as many rows as are visible."""
        child = self.highlighted_child
        rows = max(1, self.size.height // max(1, child.size.height if child else 1))
        self.move(direction * rows)

    @staticmethod
    def nothing(query: str, total: int) -> str:
        """What the list says where the filter leaves nothing."""
        return f"0 of {total} match {line(query, 60)}. Esc clears."
