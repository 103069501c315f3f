"""Which ops allocate most."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import DataTable

from analyzer import units
from analyzer.page.words.of_steps import Noun, label
from analyzer.tui.look.plain import line
from analyzer.views.memory_curve import MemoryCurve

# The figures' columns with what is around them, and the scroll bar.
FIGURES = (("allocated", 10), ("calls", 8), ("largest", 10))
PADDING, SCROLLBAR = 2, 4
# Narrower than this only how much is allocated stands beside the op.
ROOMY = 60


class AllocationTable(DataTable[Content]):
    """One row per op; bytes and calls are per step."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j,down", "cursor_down", "Down", show=False, id="allocations.down", tooltip="The row below"),
        Binding("k,up", "cursor_up", "Up", show=False, id="allocations.up", tooltip="The row above"),
        Binding("g,home", "scroll_top", "First", show=False, id="allocations.first", tooltip="The first row"),
        Binding("G,end", "scroll_bottom", "Last", show=False, id="allocations.last", tooltip="The last row"),
    ]

    def __init__(self, noun: Noun = "step") -> None:
        super().__init__(id="allocations", cursor_type="row", zebra_stripes=False)
        self.border_title = label("Allocations by op, a step", noun)
        self._none = label("none in the used steps", noun)
        self._curve: MemoryCurve | None = None

    def show(self, curve: MemoryCurve) -> None:
        """Show a device's ops."""
        self._curve = curve
        figures = FIGURES if self.size.width >= ROOMY else FIGURES[:1]
        room = max(16, self.size.width - PADDING - SCROLLBAR - sum(width + PADDING for _, width in figures))
        self.clear(columns=True)
        self.add_column("op", width=room)
        for title, width in figures:
            self.add_column(title.rjust(width), width=width)
        for one in curve.allocators:
            name = Content(line(one.name, 200) or "outside any op")
            shape = line(one.shape, 200)
            cells = (
                Content.assemble(name, (f"  {shape}" if shape.strip("[], ") else "", "$quiet")).truncate(
                    room, ellipsis=True
                ),
                Content.styled(f"{units.size(one.size_bytes):>10}", "bold"),
                Content(f"{f'{one.calls:,.4g}':>8}"),
                Content(f"{units.size(one.largest_bytes):>10}"),
            )
            self.add_row(*cells[: len(figures) + 1])
        count = len(curve.allocators)
        self.border_subtitle = units.count(count, "op") if count else self._none

    def on_resize(self) -> None:
        """Columns for the new width; the cursor stays."""
        row = self.cursor_row
        if self._curve is not None:
            self.show(self._curve)
            self.move_cursor(row=row, animate=False)
