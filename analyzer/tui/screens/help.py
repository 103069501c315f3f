"""All keys, in groups; opened by ?."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.content import Content

from analyzer.tui.draw.finding import heading
from analyzer.tui.look.glyphs import Glyphs
from analyzer.tui.screens.text_page import TextPage

# Of the keys' column.
GUTTER = 14
ABOUT = (
    "The list says what costs time and what a change may save, the most first. c copies the change of the finding under the "
    "cursor. Make it, record again, and see whether it helped: advisor explain AFTER.json --baseline BEFORE.json"
)
LOWERED = (
    "Marked lowered: graver by its share than its sign says, as nothing tells steps apart, fewer than three are used, or the "
    "recording slows down what was found. The detail says which."
)
GROUPS: tuple[tuple[str, tuple[tuple[str, str], ...]], ...] = (
    ("Move", (
        ("1 to 5", "findings, timeline, operators, memory, checks"),
        ("j k, arrows", "down, up; in the detail and in pages: scroll; left, right: long lines of code"),
        ("g G", "first, last"),
        ("n p", "next, previous finding from anywhere"),
        ("Enter", "open what the cursor is on; on the timeline look at it"),
        ("Esc", "back; clears the filter; never quits"),
        ("Tab", "next pane; on the timeline: the lanes, where arrows walk from event to event"),
        ("Space", "what if: the step with the ticked findings fixed"),
        ("z", "maximise the pane, and back; of the timeline the lanes, and all of an event"),
        ("!", "what to know before believing a figure"),
        ("x", "look no deeper: evidence of HolisticTraceAnalysis is not waited for"),
    )),
    ("Find", (
        ("/", "filter: text, sev:high, rule:DL, cat:input, conf:low; of checks: a state, too"),
        ("s", "sort by the next column; on the timeline: choose a step"),
        ("b", "operators by op, op + shape, kernel, module"),
        ("a", "apply the finding and prove it; operators: more than the first 500"),
    )),
    ("Timeline", (
        ("t", "show the finding on the timeline"),
        ("left right", "earlier, later; a click on a lane points at its event"),
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
        ("i", "live with the finding: a line in the configuration"),
    )),
    ("Program", (
        ("? F1", "this help"),
        ("d", "memory: the next device"),
        ("r", "the ranks of this job, the one the others wait for first"),
        ("ctrl+p", "command palette: a finding by its title, any key by what it does, a report, a rule"),
        ("ctrl+z", "to the shell; fg comes back"),
        ("q", "quit"),
    )),
)  # fmt: skip


class HelpScreen(TextPage):
    """The list of keys and what the picture means."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("question_mark,f1", "dismiss", "Close", show=False, id="help.close", tooltip="Close the help"),
    ]

    def __init__(self, glyphs: Glyphs) -> None:
        super().__init__(Content("Help"))
        self._glyphs = glyphs

    def text(self, width: int) -> Content:
        """The text."""
        lines = [*Content(ABOUT).wrap(width), Content("")]
        for title, keys in GROUPS:
            lines.append(heading(title))
            for key, what in keys:
                first, *others = Content(what).wrap(max(1, width - GUTTER))
                lines.append(Content.styled(f"  {key:<{GUTTER - 2}}", "bold $key") + first)
                lines += [Content(" " * GUTTER) + other for other in others]
            lines.append(Content(""))
        marks = self._glyphs.severity
        lines.append(heading("Signs"))
        limits = {"high": "20 % of the step or more", "medium": "10 %", "low": "5 %", "info": "less"}
        for name, limit in limits.items():
            lines.append(Content.assemble("  ", (marks[name], f"$sev-{name}"), f" {name:<10}may save {limit}"))
        lines += [Content("  ") + piece for piece in Content.styled(LOWERED, "$quiet").wrap(max(1, width - 2))]
        blocks = self._glyphs.eighths
        lines.append(
            Content(
                f"  {blocks[1]}{blocks[4]}{blocks[7]} GPU       as high as the device is busy; {self._glyphs.gap} it idles"
            )
        )
        lines.append(
            Content.styled(
                "  Savings say `at most` or `about`, the rest staying as it is; they do not add up.", "$quiet"
            )
        )
        figures = f"  12 ms {self._glyphs.arrow} 7 ms: the mean step now, and at best with every finding fixed."
        lines.append(Content.styled(figures, "$quiet"))
        return Content("\n").join(lines)
