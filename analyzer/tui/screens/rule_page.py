"""A rule's page, over the current screen."""

from __future__ import annotations

from inspect import cleandoc

from textual.content import Content

from analyzer.analysis import CheckDocument
from analyzer.explain import load_rules
from analyzer.page.words.vocabulary import STATES
from analyzer.tui.draw.finding import heading, prose
from analyzer.tui.draw.markdown import markdown
from analyzer.tui.look.plain import line
from analyzer.tui.screens.text_page import TextPage
from traces.errors import AdvisorError


def page(code: str) -> str | None:
    """The documentation of a rule, from whichever plug-in has it; None where it is not installed any more."""
    try:
        rules = load_rules()
    except AdvisorError:
        return None
    return next((cleandoc(rule.page) for rule in rules if rule.meta.code == code), None)


class RulePage(TextPage):
    """State and reason of the check, then the page."""

    def __init__(self, check: CheckDocument) -> None:
        super().__init__(Content(f"{check.rule} {line(check.title)}"))
        self._check = check
        self._page = page(check.rule)

    def text(self, width: int) -> Content:
        """The text."""
        check = self._check
        parts = [Content.assemble((STATES[check.state], "bold"), ": ", prose(line(check.reason)))]
        advice = self._advice()
        parts += [heading(advice)] if advice else []
        body = (
            markdown(self._page, width, self.shift)
            if self._page
            else Content.styled("This rule's page is not installed.", "$quiet")
        )
        return Content("\n").join([*parts, Content(""), body])

    def _advice(self) -> str:
        if self._check.state == "cannot_tell":
            return "Record what is named above to have it checked."
        if self._check.state == "crashed":
            return "This is a bug in the rule: please report it with the text above. All else stands."
        return ""
