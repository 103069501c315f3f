"""A framed text in the middle of the screen: for the states in which there is nothing to list."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widgets import Static

from analyzer import units
from analyzer.analysis import Analysis
from analyzer.page.findings.groups import each, no_card, unit
from analyzer.page.recording import is_summary
from analyzer.page.step.waterfall import by_size
from analyzer.page.words.vocabulary import passed_line
from analyzer.tui.answer import changes, wording
from analyzer.tui.answer.session import Session
from analyzer.tui.draw.code import code_block
from analyzer.tui.draw.finding import prose
from analyzer.tui.look.plain import line
from traces.errors import AdvisorError

LARGEST_CAUSES = 4


class Notice(VerticalScroll):
    """The text, with the state as title."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j,down", "scroll_down", "Down", show=False, id="notice.down", tooltip="Scroll down"),
        Binding("k,up", "scroll_up", "Up", show=False, id="notice.up", tooltip="Scroll up"),
        Binding("g,home", "scroll_home", "Top", show=False, id="notice.top", tooltip="To the top"),
        Binding("G,end", "scroll_end", "End", show=False, id="notice.end", tooltip="To the end"),
    ]

    def __init__(self, title: str, content: Content, *, bad: bool = False) -> None:
        super().__init__(classes="notice -bad" if bad else "notice")
        self._content = content
        self.border_title = Content(title)

    def compose(self) -> ComposeResult:
        """The text."""
        yield Static(self._content)


def no_findings(session: Session) -> Content:
    """What was checked, where the time is, what would have to be recorded to check more."""
    analysis, glyphs = session.analysis, session.glyphs
    summary, whole = analysis.summary, unit(analysis) == "recording"
    passed, *others = passed_line(analysis.checks).partition(",")
    parts: list[Content | str | tuple[str, str]] = [
        (f"{glyphs.passed} ", "bold $good"), (passed, "bold"), f"{''.join(others)}.\n\n",
    ]  # fmt: skip
    if is_summary(analysis):
        parts = [f"{no_card(analysis)}.\n\n"]
    if summary.gpu_busy_ratio is not None:
        parts += ["The GPU was busy for ", (units.share(summary.gpu_busy_ratio), "bold"), f" of the {unit(analysis)}"]
        parts.append("" if whole else f" (mean of {units.count(summary.used_steps, unit(analysis))})")
        parts.append(".\n")
    parts.append("Where the time is:\n\n" if whole else f"Where the time of {each(analysis)} is:\n\n")
    for part in by_size(analysis)[:LARGEST_CAUSES]:
        parts += [f"  {part.label:<14}", (f"{part.time:>8}", "bold"), (f"  {units.share(part.ratio):>7}\n", "$quiet")]
    missing = wording.missing_options(analysis.checks)
    if missing:
        parts.append(f"\nNot checked: {', '.join(missing)}.\n")
    since = session.since
    for left, right in [*changes.fixed(since, glyphs), *changes.unchecked(since, glyphs)] if since is not None else ():
        parts += ["\n", left, "  ", right]
    if analysis.checks:
        parts.append(("\nPress 5 for every check and its reason.", "$quiet"))
    return Content.assemble(*parts)


def unusable(analysis: Analysis) -> Content:
    """Why no advice may be based on the trace."""
    parts: list[Content | str | tuple[str, str]] = [("This trace cannot be trusted.", "bold"), "\n\n"]
    for reason in analysis.trust.reasons:
        parts += [(f"{reason.code}  " if reason.code else "", "$quiet"), prose(reason.message)]
        parts.append((f" ({reason.count:,} times)\n" if reason.count > 1 else "\n", "$quiet"))
    parts.append(("\nRecord it again with advisor collect, or press 5 for what every check says.", "$quiet"))
    return Content.assemble(*parts)


def failed(error: AdvisorError) -> Content:
    """What went wrong, where, why, what to do."""
    what = line(error.what).rstrip(".")
    # A file's name is written as it is.
    first = what if "." in what.partition(" ")[0] else what[:1].upper() + what[1:]
    parts: list[Content | str | tuple[str, str]] = [(f"{first}.", "bold"), "\n"]
    for label, text in (("Where", error.where), ("Why", error.why), ("What you can do", error.fix)):
        if text:
            parts += ["\n", (f"{label}: ", "$quiet"), prose(text), "\n"]
    return Content.assemble(*parts)


def only_document(what: str) -> Content:
    """Why a mode has nothing to show for a report that was opened again."""
    text = (
        f"This is a report, not a trace: it holds the findings, but not the {what}. Open the trace itself to see them."
    )
    return prose(text)


def no_memory(width: int) -> Content:
    """How to record what the memory mode shows."""
    # Nine tenths of the screen, less frame, padding and a scroll bar: what is wider the widget would break a second time.
    room = max(20, min(80, width * 9 // 10) - 10)
    lines = [prose("This trace holds no memory events. Record them with `profile_memory=True`:"), Content("")]
    lines += code_block(_RECORD_MEMORY, "diff", room)
    cost = "The profiler then adds more time to each step: take step times from a run without it."
    lines += [Content(""), prose(cost, "$quiet")]
    return Content("\n").join(lines)


_RECORD_MEMORY = """ with profile(
     activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA],
+    profile_memory=True,
     schedule=schedule(wait=5, warmup=2, active=6),
 ) as prof:"""
