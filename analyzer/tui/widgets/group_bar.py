"""What a row of the table of operators is: a line of choices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.content import Content
from textual.message import Message
from textual.widgets import Static

from analyzer.views.operator_rows import Group

WORDS: dict[Group, str] = {"op": "op", "shape": "op + shape", "kernel": "kernel", "module": "module"}


class GroupChoice(Static):
    """One group; a click chooses it."""

    def __init__(self, group: Group) -> None:
        super().__init__(Content(WORDS[group]), id=f"group-{group}", classes="choice")
        self._group = group

    def on_click(self) -> None:
        """Choose it."""
        self.post_message(GroupBar.Chosen(self._group))


class GroupBar(Horizontal):
    """The groups, and at the right a word about the table."""

    @dataclass
    class Chosen(Message):
        """A group was clicked."""

        group: Group

    def __init__(self, groups: Sequence[Group]) -> None:
        super().__init__(id="groups")
        self._groups = groups

    def compose(self) -> ComposeResult:
        """The choices."""
        yield Static("by", classes="label")
        for group in self._groups:
            yield GroupChoice(group)
        yield Static(Content("measuring"), id="group-note")

    def show(self, group: Group, note: str) -> None:
        """Mark the group and say something about the table."""
        for choice in self.query(GroupChoice):
            choice.set_class(choice.id == f"group-{group}", "-active")
        self.query_one("#group-note", Static).update(Content(note))
