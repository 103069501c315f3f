"""The top line: modes with their keys, and the headline."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.content import Content
from textual.widgets import Static

from analyzer.analysis import Analysis
from analyzer.tui import wording
from analyzer.tui.glyphs import Glyphs

# Number key, mode, word. Only modes that exist are offered.
MODES = (("1", "findings", "Findings"), ("5", "checks", "Checks"))


class Tab(Static):
    """One mode; a click does what its key does."""

    def __init__(self, key: str, mode: str, word: str, *, active: bool) -> None:
        text = Content.assemble((key, "bold" if active else "bold $key"), (f" {word}", "bold" if active else ""))
        super().__init__(text, classes="-active" if active else "", id=f"tab-{mode}")
        self._mode = mode

    def on_click(self) -> None:
        """Switch the mode."""
        self.app.switch_mode(self._mode)


class TitleBar(Horizontal):
    """Tabs left, `412 ms -> 190 ms a step` right."""

    def __init__(self, analysis: Analysis, mode: str, glyphs: Glyphs) -> None:
        super().__init__()
        self._analysis = analysis
        self._mode = mode
        self._glyphs = glyphs

    def compose(self) -> ComposeResult:
        """Tabs, then the figures."""
        yield Static("advisor", id="brand")
        for key, mode, word in MODES:
            yield Tab(key, mode, word, active=mode == self._mode)
        without = wording.unprofiled(self._analysis)
        yield Static(Content(f"({without})" if without else ""), id="unprofiled")
        yield Static(self._headline(), id="headline")

    def _headline(self) -> Content:
        if self._analysis.trust.verdict == "unusable":
            return Content.styled("no advice", "bold $sev-high")
        mean, reachable = wording.headline(self._analysis)
        return Content.assemble(
            (mean, "bold"),
            (f" {self._glyphs.arrow} ", "$quiet"),
            (reachable, "bold $good"),
            (" a step", "$quiet"),
        )
