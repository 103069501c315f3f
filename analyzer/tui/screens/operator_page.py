"""One operator: figures, who calls it, what it calls, its longest calls."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from analyzer import units
from analyzer.facts.operator_rows import Neighbour, OperatorDetail
from analyzer.tui.draw.finding import heading
from analyzer.tui.draw.table import table
from analyzer.tui.plain import line
from analyzer.tui.session import Session

# Of the box (styles/base.tcss): the frame, the padding, the scroll bar.
BOX, MARGIN = 96, 8


class OperatorPage(ModalScreen[None]):
    """A scrolling text; keys as on every page."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,enter", "dismiss", "Close", id="page.close", tooltip="Close the page"),
        Binding("j,down", "scroll(1)", "Down", show=False, id="page.down", tooltip="Scroll down"),
        Binding("k,up", "scroll(-1)", "Up", show=False, id="page.up", tooltip="Scroll up"),
    ]

    def __init__(self, detail: OperatorDetail, session: Session) -> None:
        super().__init__()
        self._detail = detail
        self._session = session

    def compose(self) -> ComposeResult:
        """The text."""
        with VerticalScroll(classes="modal -roomy") as box:
            box.border_title = Content(line(self._detail.row.name, 60))
            box.border_subtitle = "Esc closes"
            room = min(BOX, int(self.app.size.width * 0.96)) - MARGIN
            yield Static(page(self._detail, max(20, room)))

    def action_scroll(self, by: int) -> None:
        """Scroll the text."""
        self.query_one(VerticalScroll).scroll_relative(y=by, animate=False)


def page(detail: OperatorDetail, width: int) -> Content:
    """The whole text at a width."""
    row = detail.row
    lines = [Content.styled(line(row.name, 2_000), "bold")]
    lines += [Content.styled(line(row.shape, 400), "$quiet")] if row.shape else []
    figures = [f"{row.calls:,.4g} calls a step"]
    if row.host_ns is not None and row.self_host_ns is not None:
        figures.append(f"CPU {units.duration(row.host_ns)} ({units.duration(row.self_host_ns)} its own)")
    if row.device_ns:
        figures.append(f"GPU {units.duration(row.device_ns)} ({units.duration(row.self_device_ns)} its own)")
    lines.append(Content(", ".join(figures)))
    if row.tensor_core_ratio is not None:
        lines.append(Content(f"{units.share(row.tensor_core_ratio)} of its matrix work on tensor cores"))
    kernel = row.host_ns is None
    lines += _neighbours("Launched by" if kernel else "Called by", detail.callers, width, "nothing recorded around it")
    if not kernel:
        lines += _neighbours("Calls", detail.callees, width, "no other op")
    lines += [Content(""), heading("Longest calls")]
    rows = [
        (str(one.step), units.duration(one.start_ns), units.duration(one.dur_ns), line(one.detail, 300))
        for one in detail.examples
    ]
    lines += table(("step", "starts", "length", "stream" if kernel else "shapes"), rows, (3,), width)
    return Content("\n").join(lines)


def _neighbours(title: str, found: Sequence[Neighbour], width: int, nothing: str) -> list[Content]:
    lines = [Content(""), heading(title)]
    if not found:
        return [*lines, Content.styled(nothing, "$quiet")]
    rows = [
        (line(one.name, 300), f"{one.calls:,.4g}", units.duration(one.host_ns), units.duration(one.device_ns))
        for one in found
    ]
    return lines + table(("name", "calls", "CPU", "GPU"), rows, (0,), width)
