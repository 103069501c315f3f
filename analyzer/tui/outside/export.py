"""Reports from inside the UI: the same as `advisor explain -o`, redacted, written beside the reader and never over a file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from analyzer.explained import Explained
from analyzer.report import formats
from analyzer.tui.outside import clipboard


@dataclass(frozen=True)
class Form:
    """A format as the menu offers it.

    Args:
        name: As `analyzer.report.formats` has it.
        key: In the menu.
    """

    name: str
    key: str

    @property
    def ending(self) -> str:
        """Of its file."""
        return formats.BY_NAME[self.name].endings[0]

    @property
    def use(self) -> str:
        """What it is good for."""
        return formats.BY_NAME[self.name].use


FORMS = tuple(
    Form(name, key)
    for name, key in (
        ("markdown", "m"), ("html", "h"), ("json", "j"), ("text", "t"), ("svg", "s"), ("sarif", "a"),
    )
)  # fmt: skip


def render(explained: Explained, form: str) -> str:
    """The report, without names of people, machines and folders; a page with the events of its step where the trace is at hand."""
    from analyzer.report.redact import redact
    from analyzer.report.redact.here import project

    shown = redact(explained.analysis, project())
    if form == "html":
        from analyzer.report import html
        from analyzer.report.from_trace import from_trace

        return html.render(shown, from_trace(explained))
    return formats.render(shown, form)


def write(explained: Explained, form: Form, folder: Path | None = None) -> Path:
    """Writes the report into a folder (the working one by default) under a name that is free.

    Raises:
        OSError: it cannot be written there nor into the folder of copies.
    """
    text = render(explained, form.name)
    stem = Path(explained.analysis.trace.name).name.partition(".")[0][:80] or "trace"
    for place in (folder or Path.cwd(), clipboard.folder()):
        try:
            return _write_new(place, f"advisor-{_plain(stem)}", form.ending, text)
        except OSError as error:
            failed = error
    raise failed


def _write_new(folder: Path, stem: str, ending: str, text: str) -> Path:
    for number in range(1, 1_000):
        path = folder / (f"{stem}{ending}" if number == 1 else f"{stem}-{number}{ending}")
        try:
            with path.open("x", encoding="utf-8", newline="\n") as file:
                file.write(text)
        except FileExistsError:
            continue
        return path
    raise FileExistsError(f"{stem}{ending} and 998 more exist")


def _plain(name: str) -> str:
    """A name from a trace as part of a file name."""
    return "".join(char if char.isascii() and (char.isalnum() or char in "-_") else "_" for char in name)
