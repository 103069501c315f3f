"""The gaps of the drawn step: where the device does nothing, and why."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from rich.cells import cell_len
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.message import Message
from textual.widgets import DataTable

from analyzer import units
from analyzer.analysis import FindingDocument
from analyzer.page.words.of_steps import Noun
from analyzer.page.words.vocabulary import label
from analyzer.tui.draw import bars
from analyzer.tui.look.glyphs import Glyphs
from analyzer.tui.look.plain import line
from analyzer.tui.widgets.filling_table import BETWEEN, FillingTable, Heading, joined, taken
from analyzer.views.step_gaps import MOST_GAPS, Gap
from analyzer.views.step_lanes import StepLanes, host_label

NUMBER, FIGURE, CAUSE = 4, 8, 16
# Narrower than this the picture says where a gap starts; than this, the finding alone is named, by its rule.
WITH_STARTS, WITH_HOST = 76, 60
CODE = 8
HOST_TITLE = "the CPU was in"
SCROLLBAR = 2


class GapTable(FillingTable):
    """One row per gap, the longest first."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j,down", "cursor_down", "Down", show=False, id="gaps.down", tooltip="The gap below"),
        Binding("k,up", "cursor_up", "Up", show=False, id="gaps.up", tooltip="The gap above"),
        Binding("enter", "select_cursor", "Look", key_display="Enter", id="gaps.zoom", tooltip="Look at this gap"),
        Binding("left", "screen.pan(-1)", "Left", show=False, id="gaps.left", tooltip="Move to the left"),
        Binding("right", "screen.pan(1)", "Right", show=False, id="gaps.right", tooltip="Move to the right"),
        Binding("g,home", "scroll_top", "First", show=False, id="gaps.first", tooltip="The first gap"),
        Binding("G,end", "scroll_bottom", "Last", show=False, id="gaps.last", tooltip="The last gap"),
    ]

    @dataclass
    class Moved(Message):
        """The cursor is on another gap."""

        gap: Gap
        number: int

    def __init__(self, findings: Mapping[str, FindingDocument], glyphs: Glyphs, noun: Noun = "step") -> None:
        super().__init__(id="gaps")
        self._noun = noun
        self._glyphs = glyphs
        self._findings = findings
        self._step: StepLanes | None = None
        self._gaps: tuple[Gap, ...] = ()
        self._announced = 0
        self._width = 0

    @property
    def gap(self) -> Gap | None:
        """The gap under the cursor."""
        return self._gaps[self.cursor_row] if 0 <= self.cursor_row < len(self._gaps) else None

    def show(self, step: StepLanes, title: str) -> None:
        """Show the gaps of a step, the cursor on the first; that one is not announced."""
        self._step, self._gaps, self._announced = step, step.gaps, 0
        self.border_title = title
        more = f"the longest {MOST_GAPS}, " if len(step.gaps) == MOST_GAPS else ""
        share = units.share(step.gaps_ns / max(step.dur_ns, 1))
        self.border_subtitle = f"{more}all together {units.duration(step.gaps_ns)}, {share} of the {self._noun}"
        self._fill()

    def on_resize(self) -> None:
        """Columns for the new width; the cursor stays."""
        row = self.cursor_row
        if self._step is not None and self.size.width != self._width:
            self._fill(row + 1)
            self.move_cursor(row=row, animate=False)

    def _fill(self, least: int = 0) -> None:
        self._width = self.size.width
        columns = self._columns()
        headings = [heading for _, heading in columns]
        rows = (self._cells(number, gap) for number, gap in enumerate(self._gaps, 1))
        self.fill(headings, (joined([row[at] for at, _ in columns], headings) for row in rows), least)

    def _columns(self) -> list[tuple[int, Heading]]:
        """Which cell under which heading: what the CPU was in takes what it needs, the finding the rest."""
        width = self.size.width - SCROLLBAR
        columns = [
            (0, Heading(" gap", NUMBER)),
            (1, Heading("  starts", FIGURE)),
            (2, Heading("  length", FIGURE)),
            (3, Heading("cause", CAUSE)),
        ]
        if self.size.width < WITH_STARTS:
            del columns[1]
        room = width - taken([heading for _, heading in columns])
        if self.size.width < WITH_HOST:
            return [*columns, (5, Heading("finding", max(CODE, room - len(BETWEEN))))]
        room = max(2 * CODE, room - 2 * len(BETWEEN))
        needed = max([len(HOST_TITLE), *(cell_len(_host(gap)) for gap in self._gaps)])
        finding = max([CODE, *(self._named(gap).cell_length for gap in self._gaps)])
        host = min(needed, max(room // 2, room - finding))
        return [
            *columns,
            (4, Heading(HOST_TITLE if host >= len(HOST_TITLE) else "CPU was in", host)),
            (5, Heading("finding", room - host)),
        ]

    def _cells(self, number: int, gap: Gap) -> list[Content]:
        texts = (f"{number:>4}", f"{units.duration(gap.start_ns):>8}", f"{units.duration(gap.dur_ns):>8}")
        return [
            *(Content(text) for text in texts),
            Content.assemble(bars.swatch(gap.cause, self._glyphs), " ", label(gap.cause)),
            Content.styled(_host(gap), "" if gap.host else "$quiet"),
            self._named(gap),
        ]

    def _named(self, gap: Gap) -> Content:
        """The finding that explains a gap."""
        found = self._findings.get(gap.finding or "")
        if found is None:
            return Content("")
        return Content.assemble((found.rule, f"bold $sev-{found.severity}"), f" {line(found.title)}")

    def on_data_table_row_highlighted(self, event: DataTable.RowHighlighted) -> None:
        """Announce the gap."""
        event.stop()
        gap = self.gap
        if gap is not None and event.cursor_row != self._announced:
            self._announced = event.cursor_row
            self.post_message(self.Moved(gap, event.cursor_row + 1))


def _host(gap: Gap) -> str:
    """What the CPU was in during a gap."""
    host = line(host_label(gap.host), 300) or "nothing recorded"
    return f"{host} x {gap.times}" if gap.times > 1 else host
