"""What every screen is given: the answer, how to draw, and the measurements behind it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from analyzer.analysis import Analysis
from analyzer.tui.glyphs import Glyphs

if TYPE_CHECKING:
    from analyzer.tui.measured import Measured


@dataclass(frozen=True, eq=False)
class Session:
    """One opened trace.

    Args:
        analysis: The document.
        glyphs: How to draw.
        measured: Views that need more than the document; None where only the document is there.
        path: The trace on disk, if there is one.
    """

    analysis: Analysis
    glyphs: Glyphs
    measured: Measured | None = None
    path: Path | None = None
