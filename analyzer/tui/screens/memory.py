"""Mode 4: memory over time and who allocates it, or how to record it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container
from textual.message import Message
from textual.reactive import reactive

from analyzer.page.findings.groups import unit
from analyzer.tui.answer.session import Session
from analyzer.tui.screens.mode import ModeScreen
from analyzer.tui.widgets.allocation_table import AllocationTable
from analyzer.tui.widgets.key_bar import KeyBar
from analyzer.tui.widgets.memory_chart import MemoryChart
from analyzer.tui.widgets.notice import Notice, no_memory, only_document
from analyzer.tui.widgets.title_bar import TitleBar
from analyzer.views.memory_curve import MemoryCurve


class MemoryScreen(ModeScreen):
    """Curve above, allocating ops below."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("d", "device", "Device", id="memory.device", tooltip="The next device, or the CPU"),
        Binding("escape", "app.mode('findings')", "Findings", key_display="Esc", id="memory.back", tooltip="Back to the findings"),
    ]  # fmt: skip

    index: reactive[int] = reactive(0, init=False)
    """Which device is shown."""

    @dataclass
    class Measured(Message):
        """The curves are there."""

        curves: tuple[MemoryCurve, ...]

    def __init__(self, session: Session) -> None:
        super().__init__()
        self._session = session
        self._curves: tuple[MemoryCurve, ...] = ()
        self._recorded = session.analysis.trace.profiler.memory

    def compose(self) -> ComposeResult:
        """Title, curve, table; or what to record."""
        yield TitleBar(self._session, "memory")
        if self._session.measured is None or not self._recorded:
            reopened = self._session.measured is None and self._recorded
            text = only_document("memory events") if reopened else no_memory(self.app.size.width)
            with Container(classes="stage"):
                yield Notice("Memory" if reopened else "Memory was not recorded", text)
        else:
            noun = unit(self._session.analysis)
            yield MemoryChart(self._session.glyphs, noun)
            yield AllocationTable(noun)
        yield KeyBar()

    def on_mount(self) -> None:
        """Measure."""
        if self.query(MemoryChart):
            self.query_one(AllocationTable).focus()
            self._measure()

    @work(thread=True, exclusive=True)
    def _measure(self) -> None:
        measured = self._session.measured
        assert measured is not None
        self.post_message(self.Measured(measured.memory()))

    def on_memory_screen_measured(self, message: Measured) -> None:
        """Show the first device."""
        self._curves = message.curves
        self._show()

    def watch_index(self) -> None:
        """Show the device."""
        self._show()

    def _show(self) -> None:
        if self._curves:
            curve = self._curves[self.index % len(self._curves)]
            self.query_one(MemoryChart).curve = curve
            self.query_one(AllocationTable).show(curve)
            self.refresh_bindings()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """No choice where there is one device."""
        return action != "device" or len(self._curves) > 1

    def action_device(self) -> None:
        """The next device."""
        self.index += 1
