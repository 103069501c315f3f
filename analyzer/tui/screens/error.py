"""The trace could not be read: what, where, why, what to do."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.containers import Container

from analyzer.tui.look.plain import line
from analyzer.tui.screens.sized import SizedScreen
from analyzer.tui.widgets.key_bar import KeyBar
from analyzer.tui.widgets.notice import Notice, failed
from traces.errors import AdvisorError, UsageError


class ErrorScreen(SizedScreen[None]):
    """One framed message; q leaves with the error's exit code."""

    def __init__(self, name: str, error: AdvisorError) -> None:
        super().__init__()
        self._trace_name = name
        self._error = error

    def compose(self) -> ComposeResult:
        """The message."""
        with Container(classes="stage"):
            yield Notice(self._title(), failed(self._error), bad=True)
        yield KeyBar(palette=False)

    def _title(self) -> str:
        """The trace is to blame, unless the call is."""
        wrong_call = isinstance(self._error, UsageError)
        return "Can't do that" if wrong_call else f"Can't read {line(self._trace_name, 60)}"
