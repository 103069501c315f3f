"""The menu of formats, opened by e."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.content import Content

from analyzer.tui.outside.export import FORMS, Form
from analyzer.tui.screens.menu import MenuScreen


class ExportScreen(MenuScreen):
    """Answers with the place of the chosen format among `FORMS`; a letter chooses too."""

    BINDINGS: ClassVar[list[BindingType]] = [
        *(
            Binding(form.key, f"choose({number})", form.name, show=False, id=f"export.{form.name}", tooltip=form.use)
            for number, form in enumerate(FORMS)
        ),
    ]

    def __init__(self) -> None:
        super().__init__("Write a report", "writes", [_line(form) for form in FORMS])

    def action_choose(self, number: int) -> None:
        """A format's own key."""
        self.dismiss(number)


def _line(form: Form) -> Content:
    return Content.assemble(
        (f" {form.key} ", "bold $key"), f" {form.name:<9} ", (f"{form.ending:<12}", "$quiet"), (form.use, "$quiet")
    )
