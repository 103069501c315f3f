"""The menu of formats, opened by e."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from analyzer.tui.export import FORMS, Form


class ExportScreen(ModalScreen[Form | None]):
    """Answers with the chosen format; a letter chooses too."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "dismiss", "Close", id="export.close", tooltip="Write nothing"),
        *(
            Binding(form.key, f"choose({number})", form.name, show=False, id=f"export.{form.name}", tooltip=form.use)
            for number, form in enumerate(FORMS)
        ),
    ]

    def compose(self) -> ComposeResult:
        """The formats."""
        with Vertical(classes="modal") as box:
            box.border_title = "Write a report"
            box.border_subtitle = "Enter writes, Esc closes"
            yield OptionList(*(Option(self._line(form), id=form.name) for form in FORMS), compact=True)

    @staticmethod
    def _line(form: Form) -> Content:
        return Content.assemble(
            (f" {form.key} ", "bold $key"), f" {form.name:<9} ", (f"{form.ending:<12}", "$quiet"), (form.use, "$quiet")
        )

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Enter or a click."""
        event.stop()
        self.dismiss(FORMS[event.option_index])

    def action_choose(self, number: int) -> None:
        """A format's own key."""
        self.dismiss(FORMS[number])
