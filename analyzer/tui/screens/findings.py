"""The main screen: step strip, findings, detail."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container, Horizontal, Vertical
from textual.content import Content
from textual.events import Resize
from textual.reactive import reactive
from textual.widget import Widget
from textual.widgets import ListView

from analyzer.analysis import Analysis, FindingDocument
from analyzer.page.findings.groups import counts
from analyzer.tui.answer import changes
from analyzer.tui.answer.session import Session
from analyzer.tui.findings import filtering
from analyzer.tui.findings.copying import Copying
from analyzer.tui.findings.looking import Looking
from analyzer.tui.findings.ticking import Ticking
from analyzer.tui.screens.mode import ModeScreen
from analyzer.tui.widgets.brief import Brief
from analyzer.tui.widgets.detail import CODE_LEFT, CODE_RIGHT, SIDEWAYS, Detail, Pane
from analyzer.tui.widgets.evidence_column import EvidenceColumn
from analyzer.tui.widgets.filter_bar import FilterBar
from analyzer.tui.widgets.finding_list import FindingList
from analyzer.tui.widgets.framed import Framed
from analyzer.tui.widgets.key_bar import KeyBar
from analyzer.tui.widgets.notice import Notice, no_findings, unusable
from analyzer.tui.widgets.step_strip import StepStrip
from analyzer.tui.widgets.title_bar import TitleBar
from analyzer.tui.widgets.verdict import Verdict
from analyzer.tui.work.messages import AcceptanceWanted, EditWanted, PlaceWanted, ProveWanted, TraceWanted


class ListPane(Vertical, Framed):
    """The frame of filter and list; maximised as a whole."""

    ALLOW_MAXIMIZE = True


class FindingsScreen(Ticking, Copying, Looking, ModeScreen):
    """Mode 1. Layout is in styles/findings.tcss only."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("slash", "filter", "Filter", key_display="/", id="findings.filter", tooltip="Show only some findings"),
        Binding("c", "copy_fix", "Copy fix", id="findings.copy_fix", tooltip="Copy the change to make"),
        Binding("t", "place", "Timeline", id="findings.place", tooltip="Show it on the timeline"),
        Binding("e", "app.export", "Export", id="findings.export", tooltip="Write a report in any format"),
        Binding("E", "edit", "Edit", show=False, id="findings.edit", tooltip="Open the place in $EDITOR"),
        Binding(
            "a", "prove", "Apply", show=False, id="findings.prove", tooltip="Apply the change, and prove that it helped"
        ),
        Binding("i", "accept", "Ignore", show=False, id="findings.ignore", tooltip="Live with this finding"),
        Binding("P", "perfetto", "Perfetto", show=False, id="findings.perfetto", tooltip="Look at it in Perfetto"),
        Binding("C", "copy_finding", "Copy all", show=False, id="findings.copy", tooltip="Copy it as Markdown"),
        Binding("s", "sort", "Sort", show=False, id="findings.sort", tooltip="Sort by rank, saving or rule"),
        Binding("space", "tick", "What if", show=False, id="findings.tick", tooltip="The step with this finding fixed"),
        Binding("x", "stop_deeper", "Stop", show=False, id="findings.stop", tooltip="Look no deeper for evidence"),
        Binding("n", "step(1)", "Next", show=False, id="findings.next", tooltip="The next finding"),
        Binding("p", "step(-1)", "Previous", show=False, id="findings.previous", tooltip="The previous finding"),
        Binding("left", f"sideways({-SIDEWAYS})", "Left", show=False, id="findings.left", tooltip=CODE_LEFT),
        Binding("right", f"sideways({SIDEWAYS})", "Right", show=False, id="findings.right", tooltip=CODE_RIGHT),
        Binding("enter", "open", "Open", show=False, id="findings.open", tooltip="Open the finding"),
        Binding("escape", "back", "Back", show=False, id="findings.back", tooltip="Back to the list, clear the filter"),
    ]

    query_text: reactive[str] = reactive("", init=False)
    """The filter."""

    order: reactive[str] = reactive(filtering.ORDERS[0], init=False)
    """The sort order."""

    def __init__(self, session: Session) -> None:
        super().__init__()
        self._session = session
        self._analysis = analysis = session.analysis
        self._glyphs = session.glyphs
        self._finding: FindingDocument | None = None
        self._opened = False
        if not analysis.findings or analysis.trust.verdict == "unusable":
            self.add_class("-notice")

    def compose(self) -> ComposeResult:
        """Title, verdict, strip, then list and detail, or one notice where there is nothing to list."""
        yield TitleBar(self._session, "findings")
        if self._analysis.trust.verdict == "unusable":
            with Container(classes="stage"):
                yield Notice("No advice from this trace", unusable(self._analysis), bad=True)
        else:
            yield Verdict(self._session)
            yield StepStrip(self._analysis, self._glyphs)
            yield from self._body()
        yield KeyBar()

    def _body(self) -> ComposeResult:
        if not self._analysis.findings:
            with Container(classes="stage"):
                yield Notice("No findings", no_findings(self._session))
            return
        with Horizontal(id="body"):
            with ListPane(id="list-pane"):
                yield FilterBar()
                yield FindingList(self._session)
                yield Brief(self._analysis, self._glyphs, id="brief-below", named=True)
            yield Detail(self._analysis, self._glyphs)
            yield EvidenceColumn(self._analysis, self._glyphs)

    async def on_mount(self) -> None:
        """Fill the list."""
        if not self.has_class("-notice"):
            self.name_list()
            self.query_one(EvidenceColumn).border_title = "Evidence"
            await self._fill()
            self.query_one(FindingList).focus()

    async def _fill(self) -> None:
        every = self._analysis.findings
        found = [one for one in every if filtering.matches(one, self.query_text)]
        rows = self.query_one(FindingList)
        shown = filtering.arrange(found, self._analysis.cards, self.order)
        keep = self._finding.id if self._finding else None
        groups = changes.grouped(shown, self._session.since)
        await rows.show(groups, FindingList.nothing(self.query_text, len(every)), keep)
        self.query_one("#list-pane").border_subtitle = self._count(len(found), len(every))

    def _count(self, found: int, total: int) -> str:
        if self.query_text:
            return f"{found} of {total} match"
        return counts(self._analysis)

    async def watch_query_text(self) -> None:
        """Refill the list."""
        await self._fill()

    async def watch_order(self) -> None:
        """Refill the list."""
        await self._fill()
        self.name_list()

    def name_list(self) -> None:
        """The list's title: whose findings, how sorted, and whether more is looked for."""
        if not self.has_class("-notice"):
            by = "" if self.order == filtering.ORDERS[0] else f" by {self.order}"
            rank, ranks = self._session.rank, self._session.ranks
            of = f" of rank {rank.rank}{by} {self._glyphs.dot} r: {ranks} ranks" if rank is not None else by
            words = self.deeper_words()
            deeper = f" {self._glyphs.dot} {words}" if words else ""
            self.query_one("#list-pane").border_title = f"Findings{of}{deeper}"

    def on_finding_list_moved(self, message: FindingList.Moved) -> None:
        """Show the finding under the cursor everywhere."""
        self._finding = message.finding
        self.query_one(StepStrip).finding = message.finding
        for pane in self.query(Pane):
            pane.show(message.finding)
        for brief in self.query(Brief):
            brief.finding = message.finding
        detail = self.query_one(Detail)
        detail.border_title = Content(message.finding.rule if message.finding else "")
        detail.say_place(f"{message.position} of {message.total}" if message.total else "")

    def on_list_view_selected(self, event: ListView.Selected) -> None:
        """Enter or click on a row opens it."""
        event.stop()
        self.action_open()

    def on_filter_bar_queried(self, message: FilterBar.Queried) -> None:
        """Filter while typing."""
        self.query_text = message.query

    def on_filter_bar_left(self, message: FilterBar.Left) -> None:
        """Back to the list; the line stays visible while it filters."""
        if message.cleared or not self.query_text:
            self.query_one(FilterBar).close()
        self.query_one(FindingList).focus()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """No finding keys where there are no findings, nothing to stop where nothing is looked for."""
        if action == "stop_deeper":
            return self.looking_deeper
        mine = (
            "filter",
            "copy_fix",
            "copy_finding",
            "place",
            "edit",
            "prove",
            "accept",
            "sort",
            "step",
            "open",
            "tick",
            "zoom_pane",
        )
        return not (action in mine and self.has_class("-notice"))

    def action_filter(self) -> None:
        """Open the filter line."""
        self._open(wide=False)
        self.query_one(FilterBar).open()

    def action_sort(self) -> None:
        """The next order."""
        orders = filtering.ORDERS
        self.order = orders[(orders.index(self.order) + 1) % len(orders)]

    def action_step(self, by: int) -> None:
        """The next or previous finding, from wherever the focus is."""
        self.query_one(FindingList).move(by)

    def action_open(self) -> None:
        """The detail gets the focus, and on narrow screens all the room (styles)."""
        if self._finding is not None:
            self._open(wide=True)
            self.query_one(Detail).focus()

    def _open(self, *, wide: bool) -> None:
        """Give the detail the room of the others, or give it back."""
        self._opened = wide
        self._give_room()

    def _give_room(self) -> None:
        """On the few concerned, and only where it changes something: each class restyles all that is below it."""
        narrow = self.has_class("-narrow")
        self.query("#verdict, #strip, #list-pane, #detail").set_class(self._opened and narrow, "-open")

    def on_resize(self, event: Resize) -> None:
        """An opened detail stays so."""
        self.call_after_refresh(self._give_room)

    def action_back(self) -> None:
        """Close the detail, then clear the filter; never quit."""
        if self.maximized is not None:
            self.minimize()
        elif self._opened:
            self._open(wide=False)
            self.query_one(FindingList).focus()
        elif not self.has_class("-notice"):
            self.query_one(FilterBar).close()
            self.query_one(FindingList).focus()

    def action_sideways(self, cells: int) -> None:
        """Move long lines of code in the detail, from wherever the focus is."""
        for detail in self.query(Detail):
            detail.action_sideways(cells)

    def action_place(self) -> None:
        """Show the finding on the timeline."""
        if self._finding is not None:
            self.post_message(PlaceWanted(self._finding))

    def action_perfetto(self) -> None:
        """The trace with the findings drawn in, for Perfetto."""
        self.post_message(TraceWanted(self._finding))

    def pane(self) -> Widget | None:
        """The list goes with its frame and its filter."""
        return self.query_one("#list-pane") if isinstance(self.focused, FindingList) else self.focused

    def action_accept(self) -> None:
        """Accept the finding in the configuration."""
        if self._finding is not None:
            self.post_message(AcceptanceWanted(self._finding))

    def action_edit(self) -> None:
        """Open the finding's place in the editor, and come back."""
        if self._finding is not None:
            self.post_message(EditWanted(self._finding))

    def action_prove(self) -> None:
        """How to apply the finding, and how to prove that it helped."""
        if self._finding is not None:
            self.post_message(ProveWanted(self._finding))

    def deepened(self, analysis: Analysis) -> None:
        """More evidence is there: the findings are the same, each with more to show."""
        self._analysis = analysis
        if not self.has_class("-notice"):
            self.query_one(FindingList).replace({finding.id: finding for finding in analysis.findings})
            self.show_what_if()
            if not self.query_text:
                # One that was accepted is no longer one to act on.
                self.query_one("#list-pane").border_subtitle = counts(analysis)

    def go_to(self, identity: str) -> None:
        """Put the cursor on a finding."""
        self.query_one(FindingList).select(identity)
