"""The gaps of the drawn step: where the device does nothing, and why."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.content import Content
from textual.message import Message
from textual.widgets import DataTable

from analyzer import units
from analyzer.analysis import FindingDocument
from analyzer.page.words.vocabulary import label
from analyzer.tui.draw import bars
from analyzer.tui.look.glyphs import Glyphs
from analyzer.tui.look.plain import line
from analyzer.tui.widgets.filling_table import FillingTable
from analyzer.views.step_gaps import MOST_GAPS, Gap
from analyzer.views.step_lanes import StepLanes, host_label

NUMBER, FIGURE, CAUSE = 4, 8, 16
# Narrower than this the picture says where a gap starts; than this, the finding alone is named, by its rule.
WITH_STARTS, WITH_HOST = 76, 60
CODE = 8
HOST_TITLE = "the CPU was in"
# Around each cell, and the scroll bar.
PADDING, SCROLLBAR = 2, 2


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

    def __init__(self, findings: Mapping[str, FindingDocument], glyphs: Glyphs) -> None:
        super().__init__(id="gaps")
        self._glyphs = glyphs
        self._findings = findings
        self._step: StepLanes | None = None
        self._gaps: tuple[Gap, ...] = ()
        self._announced = 0

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
        self.border_subtitle = f"{more}all together {units.duration(step.gaps_ns)}, {share} of the step"
        self._fill()

    def on_resize(self) -> None:
        """Columns for the new width; the cursor stays."""
        row = self.cursor_row
        if self._step is not None:
            self._fill(row + 1)
            self.move_cursor(row=row, animate=False)

    def _fill(self, least: int = 0) -> None:
        rows = [self._cells(number, gap) for number, gap in enumerate(self._gaps, 1)]
        columns = self._columns(rows)
        self.clear(columns=True)
        for _, name, width in columns:
            self.add_column(name, width=width)
        self.fill(([row[at].truncate(width, ellipsis=True) for at, _, width in columns] for row in rows), least)

    def _columns(self, rows: list[list[Content]]) -> list[tuple[int, str, int]]:
        """Which cell, what is over it, how wide: what the CPU was in takes what it needs, the finding the rest."""
        width = self.size.width
        columns = [(0, " gap", NUMBER), (1, "  starts", FIGURE), (2, "  length", FIGURE), (3, "cause", CAUSE)]
        if width < WITH_STARTS:
            del columns[1]
        used = sum(cells + PADDING for _, _, cells in columns) + SCROLLBAR
        if width < WITH_HOST:
            return [*columns, (5, "finding", max(CODE, width - used - PADDING))]
        room = max(2 * CODE, width - used - 2 * PADDING)
        needed = max([len(HOST_TITLE), *(row[4].cell_length for row in rows)])
        host = min(needed, max(room // 2, room - max([CODE, *(row[5].cell_length for row in rows)])))
        return [
            *columns,
            (4, HOST_TITLE if host >= len(HOST_TITLE) else "CPU was in", host),
            (5, "finding", room - host),
        ]

    def _cells(self, number: int, gap: Gap) -> list[Content]:
        host = line(host_label(gap.host), 300) or "nothing recorded"
        host = f"{host} x {gap.times}" if gap.times > 1 else host
        texts = (f"{number:>4}", f"{units.duration(gap.start_ns):>8}", f"{units.duration(gap.dur_ns):>8}")
        found = self._findings.get(gap.finding or "")
        named = Content("")
        if found is not None:
            named = Content.assemble((found.rule, f"bold $sev-{found.severity}"), f" {line(found.title)}")
        return [
            *(Content(text) for text in texts),
            Content.assemble(bars.swatch(gap.cause, self._glyphs), " ", label(gap.cause)),
            Content.styled(host, "" if gap.host else "$quiet"),
            named,
        ]

    def on_data_table_row_highlighted(self, event: DataTable.RowHighlighted) -> None:
        """Announce the gap."""
        event.stop()
        gap = self.gap
        if gap is not None and event.cursor_row != self._announced:
            self._announced = event.cursor_row
            self.post_message(self.Moved(gap, event.cursor_row + 1))
