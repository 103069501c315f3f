"""Which ops allocate most."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import DataTable

from analyzer import units
from analyzer.facts.memory_curve import MemoryCurve
from analyzer.tui.plain import line

FIXED = 46


class AllocationTable(DataTable[Content]):
    """One row per op; bytes and calls are per step."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j,down", "cursor_down", "Down", show=False, id="allocations.down", tooltip="The row below"),
        Binding("k,up", "cursor_up", "Up", show=False, id="allocations.up", tooltip="The row above"),
        Binding("g,home", "scroll_top", "First", show=False, id="allocations.first", tooltip="The first row"),
        Binding("G,end", "scroll_bottom", "Last", show=False, id="allocations.last", tooltip="The last row"),
    ]

    def __init__(self) -> None:
        super().__init__(id="allocations", cursor_type="row", zebra_stripes=False)
        self.border_title = "Allocations by op, a step"

    def show(self, curve: MemoryCurve) -> None:
        """Show a device's ops."""
        room = max(16, self.size.width - FIXED)
        self.clear(columns=True)
        for title, width in (("op", room), ("allocated", 10), ("calls", 8), ("largest", 10)):
            self.add_column(title if title == "op" else title.rjust(width), width=width)
        for one in curve.allocators:
            name = Content(line(one.name, 200) or "outside any op")
            shape = line(one.shape, 200)
            self.add_row(
                Content.assemble(name, (f"  {shape}" if shape.strip("[], ") else "", "$quiet")).truncate(
                    room, ellipsis=True
                ),
                Content.styled(f"{units.size(one.size_bytes):>10}", "bold"),
                Content(f"{f'{one.calls:,.4g}':>8}"),
                Content(f"{units.size(one.largest_bytes):>10}"),
            )
        count = len(curve.allocators)
        self.border_subtitle = units.count(count, "op") if count else "none in the used steps"
