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
from analyzer.facts.step_gaps import MOST_GAPS, Gap
from analyzer.facts.step_lanes import StepLanes, host_label
from analyzer.tui import wording
from analyzer.tui.plain import line

# Of gap, starts, length and cause with their padding; the rest is shared by host and finding.
FIXED = 52
WIDEST_FINDING = 44


class GapTable(DataTable[Content]):
    """One row per gap, the longest first."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j,down", "cursor_down", "Down", show=False, id="gaps.down", tooltip="The gap below"),
        Binding("k,up", "cursor_up", "Up", show=False, id="gaps.up", tooltip="The gap above"),
        Binding("enter", "select_cursor", "Zoom", key_display="Enter", id="gaps.zoom", tooltip="Look at this gap"),
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

    def __init__(self, findings: Mapping[str, FindingDocument]) -> None:
        super().__init__(id="gaps", cursor_type="row", zebra_stripes=False)
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
            self._fill()
            self.move_cursor(row=row, animate=False)

    def _fill(self) -> None:
        rest = max(24, self.size.width - FIXED)
        finding = min(WIDEST_FINDING, max(8, rest * 2 // 5))
        self.clear(columns=True)
        for name, width in ((" gap", 4), ("  starts", 8), ("  length", 8), ("cause", 14)):
            self.add_column(name, width=width)
        self.add_column("the CPU was in", width=rest - finding)
        self.add_column("finding", width=finding)
        self.add_rows([self._cells(number, gap, rest - finding, finding) for number, gap in enumerate(self._gaps, 1)])

    def _cells(self, number: int, gap: Gap, host_width: int, finding_width: int) -> list[Content]:
        host = line(host_label(gap.host), 300) or "nothing recorded"
        host = f"{host} x {gap.times}" if gap.times > 1 else host
        texts = (f"{number:>4}", f"{units.duration(gap.start_ns):>8}", f"{units.duration(gap.dur_ns):>8}")
        found = self._findings.get(gap.finding or "")
        named = Content("")
        if found is not None:
            place = wording.place(found) or line(found.title)
            named = Content.assemble((found.rule, f"bold $sev-{found.severity}"), f" {place}")
        return [
            *(Content(text) for text in texts),
            Content.styled(wording.CAUSE_WORDS[gap.cause], f"$cause-{gap.cause}"),
            Content.styled(host, "" if gap.host else "$quiet").truncate(host_width, ellipsis=True),
            named.truncate(finding_width, ellipsis=True),
        ]

    def on_data_table_row_highlighted(self, event: DataTable.RowHighlighted) -> None:
        """Announce the gap."""
        event.stop()
        gap = self.gap
        if gap is not None and event.cursor_row != self._announced:
            self._announced = event.cursor_row
            self.post_message(self.Moved(gap, event.cursor_row + 1))
