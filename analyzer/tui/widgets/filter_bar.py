"""The filter line."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.message import Message
from textual.widgets import Input


class FilterBar(Input):
    """Filters while typing; Enter keeps the filter, Esc clears it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "drop", "Clear", id="filter.clear", tooltip="Clear the filter", priority=True),
        Binding("enter", "submit", "Keep", id="filter.keep", tooltip="Keep the filter, go to the list"),
        Binding("down", "keep", "To the list", show=False, id="filter.down", tooltip="Keep the filter, go to the list"),
    ]

    @dataclass
    class Queried(Message):
        """The query changed."""

        query: str

    @dataclass
    class Left(Message):
        """The reader is done with the filter line; `cleared` says whether the filter was given up."""

        cleared: bool

    def __init__(self, hint: str = "text  sev:high  rule:DL  cat:input") -> None:
        super().__init__(id="filter", placeholder=hint, compact=True)

    @property
    def is_open(self) -> bool:
        """Whether the line is there."""
        return self.has_class("-on")

    def open(self) -> None:
        """Show the line and type into it."""
        self.add_class("-on")
        self.focus()

    def close(self) -> None:
        """Clear the filter, put the line away."""
        self.value = ""
        self.remove_class("-on")

    def on_input_changed(self, event: Input.Changed) -> None:
        """Pass on what was typed."""
        event.stop()
        self.post_message(self.Queried(event.value))

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Keep the filter."""
        event.stop()
        self.action_keep()

    def action_keep(self) -> None:
        """Keep the filter and leave the line."""
        self.post_message(self.Left(cleared=False))

    def action_drop(self) -> None:
        """Clear the filter and leave the line."""
        self.value = ""
        self.post_message(self.Left(cleared=True))
