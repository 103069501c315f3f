"""Which code makes the optimizers of a process."""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any

from .made_by import maker

_MOST = 8


class OptimizerCode:
    """Remembers who made the optimizers of a process."""

    def __init__(self) -> None:
        self._rows: list[dict[str, Any]] = []

    def note(self, optimizer: Any, frame: FrameType | None) -> None:
        """An optimizer is being made.

        Args:
            optimizer: The one, which may be nothing but its class yet.
            frame: Of its constructor, or of one that this calls.
        """
        row = maker(optimizer, frame)
        if row is not None and row not in self._rows and len(self._rows) < _MOST:
            self._rows.append(row)

    def told(self) -> list[dict[str, Any]]:
        """A row for each place, as `made_by.maker` gives it."""
        return self._rows


def constructor() -> FrameType | None:
    """The frame that makes an optimizer, for a method that its constructor calls; None where another calls it."""
    frame = sys._getframe(2)
    return frame if frame.f_code.co_name == "__init__" else None
