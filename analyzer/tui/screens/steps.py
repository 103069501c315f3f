"""The steps of the trace, opened by s on the timeline."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.content import Content

from analyzer import units
from analyzer.analysis import StepRow
from analyzer.tui.draw import bars
from analyzer.tui.look.glyphs import Glyphs
from analyzer.tui.look.plain import line
from analyzer.tui.screens.menu import MenuScreen

BAR = 24


class StepsScreen(MenuScreen):
    """Answers with the place of the chosen step.

    Args:
        rows: The steps, in order.
        slow: Numbers of those that took much longer than the median.
        shown: The place of the step on the screen.
        glyphs: How to draw.
        noun: What to call one of them.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("s", "dismiss", "Close", show=False, id="steps.close", tooltip="Stay on this step"),
    ]

    def __init__(self, rows: Sequence[StepRow], slow: set[int], shown: int, glyphs: Glyphs, noun: str) -> None:
        longest = max((row.dur_ns for row in rows), default=1)
        lines = [_line(row, slow=row.step in slow, longest=longest, glyphs=glyphs, noun=noun) for row in rows]
        super().__init__(units.count(len(rows), noun), "shows", lines, shown)


def _line(row: StepRow, *, slow: bool, longest: int, glyphs: Glyphs, noun: str) -> Content:
    colour = "$sev-high" if slow else "$cause-framework" if row.used else "$quiet"
    remark = "  slow" if slow else ""
    if not row.used:
        remark = f"  not used{f': {line(row.reason, 60)}' if row.reason else ''}"
    bar = bars.bar(row.dur_ns, longest, BAR, colour, glyphs)
    return Content.assemble(
        (f" {noun} {row.step:<5}", "bold"),
        f" {units.duration(row.dur_ns):>8}  ",
        bar.pad_right(BAR - bar.cell_length),
        (remark, "bold $sev-high" if slow else "$quiet"),
    )
