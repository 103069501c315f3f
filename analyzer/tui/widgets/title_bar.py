"""The top line: modes with their keys, and the headline."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.content import Content
from textual.events import Resize
from textual.widgets import Static

from analyzer.page.findings.groups import each
from analyzer.page.headline import exceeds_unprofiled
from analyzer.tui.answer import changes, wording
from analyzer.tui.answer.session import Session
from analyzer.tui.widgets.aside import Aside

# Number key, mode, word.
MODES = (
    ("1", "findings", "Findings"),
    ("2", "timeline", "Timeline"),
    ("3", "operators", "Operators"),
    ("4", "memory", "Memory"),
    ("5", "checks", "Checks"),
)
# Narrower than this only the active tab shows its word.
POCKET = 76
# Narrower than this nothing says that the figures are of a step.
NAMED = 48


class Tab(Static):
    """One mode; a click does what its key does."""

    def __init__(self, key: str, mode: str, word: str, *, active: bool) -> None:
        self._short = Content.styled(key, "bold" if active else "bold $key")
        self._whole = Content.assemble(self._short, " ", (word, "bold" if active else ""))
        super().__init__(self._whole, classes="-active" if active else "", id=f"tab-{mode}")
        self._active = active
        self._mode = mode

    def shorten(self, *, short: bool) -> None:
        """Only the digit, unless this is the mode shown."""
        self.update(self._short if short and not self._active else self._whole)

    async def on_click(self) -> None:
        """Switch the mode."""
        await self.run_action(f"app.mode('{self._mode}')")


class TitleBar(Horizontal):
    """Tabs left, right `412 ms -> 190 ms at best`: what is reachable, or with a baseline before and after."""

    def __init__(self, session: Session, mode: str) -> None:
        super().__init__()
        self._session = session
        self._analysis = session.analysis
        self._mode = mode
        self._glyphs = session.glyphs

    def compose(self) -> ComposeResult:
        """Tabs, then the figures."""
        yield Static("advisor", id="brand")
        for key, mode, word in MODES:
            yield Tab(key, mode, word, active=mode == self._mode)
        yield Aside(self._session)
        yield Static(self._headline(), id="headline")

    def on_resize(self, event: Resize) -> None:
        """Words of inactive tabs only where there is room."""
        # What changes its width while a layout is made is not laid out again.
        self.call_after_refresh(self._fit)

    def _fit(self) -> None:
        for tab in self.query(Tab):
            tab.shorten(short=self.size.width < POCKET)
        self.query_one("#headline", Static).update(self._headline(noun=self.size.width >= NAMED))

    def _headline(self, *, noun: bool = True) -> Content:
        if self._analysis.trust.verdict == "unusable":
            return Content.styled("no advice", "bold $sev-high")
        if self._session.since is not None:
            return changes.headline(self._session.since, self._glyphs)
        mean, reachable = wording.headline(self._analysis)
        if reachable == mean or exceeds_unprofiled(self._analysis):
            return Content.assemble((mean, "bold"), (f" {each(self._analysis)}" if noun else "", "$quiet"))
        return Content.assemble(
            (mean, "bold"),
            (f" {self._glyphs.arrow} ", "$quiet"),
            (reachable, "bold $good"),
            # Of a step both are: the verdict below names it.
            (" at best" if noun else "", "$quiet"),
        )
