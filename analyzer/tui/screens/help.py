"""All keys, in groups; opened by ?."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from analyzer.tui.glyphs import Glyphs

GROUPS: tuple[tuple[str, tuple[tuple[str, str], ...]], ...] = (
    ("Move", (
        ("1 to 5", "findings, timeline, operators, memory, checks"),
        ("j k, arrows", "down, up; in the detail: scroll"),
        ("g G", "first, last"),
        ("n p", "next, previous finding from anywhere"),
        ("Enter", "open what the cursor is on; on the timeline look at it"),
        ("Esc", "back; clears the filter; never quits"),
        ("Tab", "next pane"),
        ("z", "maximise the pane, and back"),
    )),
    ("Find", (
        ("/", "filter: text, sev:high, rule:DL, cat:input, conf:low"),
        ("s", "sort by the next column"),
        ("b", "operators by op, op + shape, kernel, module"),
        ("a", "operators: more than the first 500"),
    )),
    ("Timeline", (
        ("t", "show the finding on the timeline"),
        ("left right", "earlier, later"),
        ("+ - 0", "nearer, farther, the whole step"),
        ("[ ]", "previous, next step"),
        ("f", "the finding that explains the gap"),
    )),
    ("Take away", (
        ("c", "copy the fix; a file is written too"),
        ("C", "copy the finding as Markdown"),
        ("m", "copy the whole report as Markdown"),
        ("e", "write a report: Markdown, HTML, JSON, text, SVG, SARIF"),
        ("w", "open the report in a browser"),
        ("P", "write the trace with the findings drawn in, for Perfetto"),
        ("E", "open the place in $EDITOR"),
        ("i", "copy the lines that accept the finding"),
    )),
    ("Program", (
        ("? F1", "this help"),
        ("d", "memory: the next device"),
        ("r", "the ranks of this job, the one the others wait for first"),
        ("ctrl+p", "command palette: go to a finding, write a report, change the theme"),
        ("q", "quit"),
    )),
)  # fmt: skip


class HelpScreen(ModalScreen[None]):
    """The list of keys and what the picture means."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,question_mark,f1,q,enter", "dismiss", "Close", id="help.close", tooltip="Close the help"),
        Binding("j,down", "scroll(1)", "Down", show=False, id="help.down", tooltip="Scroll down"),
        Binding("k,up", "scroll(-1)", "Up", show=False, id="help.up", tooltip="Scroll up"),
    ]

    def __init__(self, glyphs: Glyphs) -> None:
        super().__init__()
        self._glyphs = glyphs

    def compose(self) -> ComposeResult:
        """One scrolling text."""
        with VerticalScroll(classes="modal") as box:
            box.border_title = "Help"
            box.border_subtitle = "Esc closes"
            yield Static(self._text())

    def _text(self) -> Content:
        lines = []
        for title, keys in GROUPS:
            lines.append(Content.styled(title, "bold $heading"))
            lines += [Content.assemble((f"  {key:<12}", "bold $key"), what) for key, what in keys]
            lines.append(Content(""))
        marks = self._glyphs.severity
        lines.append(Content.styled("Signs", "bold $heading"))
        limits = {"high": "20 % of the step or more", "medium": "10 %", "low": "5 %", "info": "less"}
        for name, limit in limits.items():
            lines.append(Content.assemble("  ", (marks[name], f"$sev-{name}"), f" {name:<10}saves at most {limit}"))
        lines.append(
            Content.styled("  Savings are upper bounds, the rest staying as it is; they do not add up.", "$quiet")
        )
        figures = f"  12 ms {self._glyphs.arrow} 7 ms: the mean step now, and at best with every finding fixed."
        lines.append(Content.styled(figures, "$quiet"))
        return Content("\n").join(lines)

    def action_scroll(self, by: int) -> None:
        """Scroll the text."""
        self.query_one(VerticalScroll).scroll_relative(y=by, animate=False)
