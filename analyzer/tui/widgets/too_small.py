"""What stands in place of everything where the terminal is too small for it (styles/base.tcss)."""

from __future__ import annotations

from textual.content import Content
from textual.widgets import Static

SMALLEST = (40, 12)


class TooSmall(Static):
    """How much room is needed, and what needs none."""

    def __init__(self) -> None:
        columns, rows = SMALLEST
        super().__init__(Content(f"needs {columns}x{rows} (q: quit), or use `advisor explain --plain`"), id="too-small")
