"""Allocated memory over the recorded time, with the steps below."""

from __future__ import annotations

from textual.content import Content
from textual.reactive import reactive
from textual.widget import Widget

from analyzer import units
from analyzer.page.words.of_steps import Noun
from analyzer.tui.draw.area import area, resampled
from analyzer.tui.look.glyphs import Glyphs
from analyzer.views.memory_curve import MemoryCurve

GUTTER = 10
# Below the curve: step marks.
FOOT = 1


class MemoryChart(Widget):
    """One device's curve."""

    curve: reactive[MemoryCurve | None] = reactive(None)
    """What is drawn."""

    def __init__(self, glyphs: Glyphs, noun: Noun = "step") -> None:
        super().__init__(id="curve")
        self._glyphs = glyphs
        self._noun = noun

    def watch_curve(self, curve: MemoryCurve | None) -> None:
        """Say in the frame what it is."""
        if curve is None:
            return
        dot = f" {self._glyphs.dot} "
        where = (
            f" in {self._noun} {curve.peak_step}" if curve.peak_step is not None and self._noun != "recording" else ""
        )
        self.border_title = Content(f"Memory{dot}{curve.device}")
        parts = [f"peak {units.size(curve.peak_bytes)}{where}"]
        if curve.reserved_bytes:
            parts.append(f"reserved {units.size(max(curve.reserved_bytes))}")
        parts += ["counted from the first event"] if curve.relative else []
        self.border_subtitle = Content(dot.join(parts))

    def render(self) -> Content:
        """The curve for the current size."""
        width, height = self.size
        curve = self.curve
        if curve is None or height <= FOOT or width <= GUTTER:
            return Content("")
        room, lines = width - GUTTER, height - FOOT
        values = resampled(curve.allocated_bytes, room)
        top = max(curve.peak_bytes, 1)
        rows = area(values, top, lines, "$cause-compute", self._glyphs)
        labels = {0: units.size(top), lines - 1: "0"} | ({lines // 2: units.size(top / 2)} if lines >= 5 else {})
        drawn = [
            Content.styled(labels.get(index, "").rjust(GUTTER - 1) + " ", "$quiet") + row
            for index, row in enumerate(rows)
        ]
        return Content("\n").join([*drawn, Content.styled(" " * GUTTER + self._steps(curve, room), "$quiet")])

    def _steps(self, curve: MemoryCurve, room: int) -> str:
        """A mark and a number where each step begins."""
        length = max(curve.end_ns - curve.start_ns, 1)
        text = ""
        numbered = zip(curve.step_numbers, curve.step_starts_ns, strict=True)
        for number, start in numbered if self._noun != "recording" else ():
            column = max(0, (start - curve.start_ns) * room // length)
            label = f"{self._glyphs.step}{number}"
            if column <= room - len(label) and column >= len(text) + (1 if text else 0):
                text = text.ljust(column) + label
        return text
