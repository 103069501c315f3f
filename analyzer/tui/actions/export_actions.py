"""What the reader takes away: reports as files, in the clipboard, in the browser. Part of the app, in a file of its own."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from textual import work
from textual.app import App
from textual.binding import Binding, BindingType

from analyzer.analysis import Analysis, FindingDocument
from analyzer.explained import Explained
from analyzer.tui.outside import clipboard, export, perfetto
from analyzer.tui.outside import programs as outside
from analyzer.tui.outside.export import FORMS, Form
from analyzer.tui.screens.export import ExportScreen
from traces.errors import AdvisorError

if TYPE_CHECKING:
    Base = App[Any]
else:
    Base = object


class ExportActions(Base):
    """Actions on the whole report. The app says which document there is by `analysis`."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("e", "export", "Export", show=False, id="app.export", tooltip="Write a report in any format"),
        Binding("m", "copy_report", "Copy report", show=False, id="app.copy_report", tooltip="Copy it as Markdown"),
        Binding("w", "open_report", "Browser", show=False, id="app.browser", tooltip="Open the report in a browser"),
    ]

    analysis: Analysis | None = None
    """The document; None while it is made."""

    def shown(self) -> Explained:
        """The document with what it was made from, as far as that is at hand; there has to be one."""
        assert self.analysis is not None
        return Explained(self.analysis)

    def action_export(self) -> None:
        """Choose a format, write it."""
        if self.analysis is not None:
            self.push_screen(ExportScreen(), self._chosen)

    def _chosen(self, place: int | None) -> None:
        if place is not None:
            self._write(FORMS[place])

    def action_copy_report(self) -> None:
        """The whole report as Markdown into the clipboard, and into a file."""
        if self.analysis is not None:
            self._copy_report(self.shown())

    def action_open_report(self) -> None:
        """The report as a page, in the browser where there is one."""
        if self.analysis is not None:
            self._open_report(self.shown())

    @work(thread=True, group="report")
    def _write(self, form: Form) -> None:
        try:
            path = export.write(self.shown(), form)
        except OSError as error:
            self._say(f"The report was not written: {error.strerror}", "Nothing written")
            return
        self._say(str(path), f"Wrote the {form.name} report")

    @work(thread=True, group="report")
    def _copy_report(self, explained: Explained) -> None:
        text = export.render(explained, "markdown")
        self.call_from_thread(self.copy_to_clipboard, text)
        try:
            where = f"Also in {clipboard.write_copy(text, 'report.md')}"
        except OSError as error:
            where = f"No file written: {error.strerror}"
        self._say(where, "Copied the report as Markdown")

    @work(thread=True, group="report")
    def _open_report(self, explained: Explained) -> None:
        try:
            path = clipboard.write_copy(export.render(explained, "html"), "report.html")
        except OSError as error:
            self._say(f"The page was not written: {error.strerror}", "Nothing written")
            return
        opened = outside.open_page(path)
        self._say(str(path), "Opened in the browser" if opened else "No browser here: open this file")

    @work(thread=True, group="report")
    def _open_trace(self, explained: Explained, path: Path | None, finding: FindingDocument | None) -> None:
        if path is None:
            self._say("The trace itself is not at hand: this is a report, or one file of several ranks.", "No Perfetto")
            return
        try:
            written = perfetto.write(explained, path)
        except (AdvisorError, OSError) as error:
            self._say(f"The trace was not written: {error}", "Nothing written")
            return
        opened = outside.open_address(perfetto.PAGE)
        what = "Drag this file into the page" if opened else f"Drag this file into {perfetto.PAGE}"
        self._say(f"{written}\nLook at {perfetto.where(finding, explained.analysis)}.", what)

    def _say(self, message: str, title: str) -> None:
        self.call_from_thread(self.notify, message, title=title, markup=False, timeout=8)
