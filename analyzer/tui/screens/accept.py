"""Accepting a finding, opened by i: the lines for the configuration, written once a reason is given."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from analyzer.analysis import FindingDocument
from analyzer.config import accepting
from analyzer.tui.draw.code import code_block
from analyzer.tui.draw.finding import prose
from analyzer.tui.look.plain import line

# Of the box (styles/base.tcss).
WIDEST, MARGIN, SHARE = 76, 8, 0.96


class AcceptScreen(ModalScreen[str | None]):
    """Answers with the reason, or with None where nothing is to be written.

    Args:
        finding: The one to live with.
        path: The file that the lines belong into.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss", "Close", id="accept.close", tooltip="Write nothing", priority=True),
    ]

    def __init__(self, finding: FindingDocument, path: Path) -> None:
        super().__init__()
        self._finding = finding
        self._path = path

    def compose(self) -> ComposeResult:
        """What it means, the reason, the lines."""
        with Vertical(classes="modal") as box:
            box.border_title = Content(f"Live with {line(self._finding.id)}")
            box.border_subtitle = "Enter writes, Esc writes nothing"
            about = "It stays in the list as accepted and fails no gate. Why do you live with it?"
            yield Static(Content(about))
            yield Input(id="reason-line", placeholder="the reason, for whoever reads it next", compact=True)
            yield Static(id="accept-lines")

    def on_mount(self) -> None:
        """Show the lines without a reason."""
        self._draw("")

    def on_input_changed(self, event: Input.Changed) -> None:
        """The lines as they would be written."""
        event.stop()
        self._draw(event.value)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Write, where there is a reason."""
        event.stop()
        if event.value.strip():
            self.dismiss(event.value.strip())

    def _draw(self, reason: str) -> None:
        width = min(WIDEST, int(self.app.size.width * SHARE)) - MARGIN
        text = accepting.lines(self._finding.id, reason, self._path)
        lines = [Content(""), prose(f"At the end of {line(self._place(), 200)}:", "$quiet")]
        # Each line is one line of the file, cut at the edge: what is typed stands whole in the line above.
        lines += code_block(text.rstrip(), "toml", max(1, width), shift=0)
        self.query_one("#accept-lines", Static).update(Content("\n").join(lines))

    def _place(self) -> str:
        here = self._path.parent == Path.cwd()
        return self._path.name if here else str(self._path)
