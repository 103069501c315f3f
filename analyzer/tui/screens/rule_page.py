"""A rule's page, over the current screen."""

from __future__ import annotations

from importlib.metadata import entry_points
from inspect import cleandoc
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from analyzer.analysis import CheckDocument
from analyzer.tui import wording
from analyzer.tui.draw.finding import heading, prose
from analyzer.tui.plain import line

GROUP = "advisor.rules"


def page(code: str) -> str | None:
    """The documentation of a rule, from whichever plug-in has it; None where it is not installed."""
    for point in entry_points(group=GROUP):
        for rule in point.load():
            if rule.meta.code == code:
                return cleandoc(rule.doc)
    return None


class RulePage(ModalScreen[None]):
    """State and reason of the check, then the page."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,enter", "dismiss", "Close", id="page.close", tooltip="Close the page"),
        Binding("j,down", "scroll(1)", "Down", show=False, id="page.down", tooltip="Scroll down"),
        Binding("k,up", "scroll(-1)", "Up", show=False, id="page.up", tooltip="Scroll up"),
    ]

    def __init__(self, check: CheckDocument) -> None:
        super().__init__()
        self._check = check

    def compose(self) -> ComposeResult:
        """One scrolling text."""
        check = self._check
        state = Content.assemble((wording.STATE_WORDS[check.state], "bold"), (f": {line(check.reason)}", ""))
        with VerticalScroll(classes="modal") as box:
            box.border_title = Content(f"{check.rule} {line(check.title)}")
            box.border_subtitle = "Esc closes"
            text = page(check.rule)
            body = prose(text) if text else Content.styled("This rule's page is not installed.", "$quiet")
            yield Static(Content("\n").join([state, self._advice(), body]))

    def _advice(self) -> Content:
        if self._check.state == "cannot_tell":
            return heading("Record what is named above to have it checked.") + "\n"
        if self._check.state == "crashed":
            return heading("This is a bug in the rule: please report it with the text above. All else stands.") + "\n"
        return Content("")

    def action_scroll(self, by: int) -> None:
        """Scroll the text."""
        self.query_one(VerticalScroll).scroll_relative(y=by, animate=False)
