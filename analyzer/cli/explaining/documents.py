"""The documents of one call of `advisor explain`: which, where to, redacted or not."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from analyzer.cli.streams import output
from analyzer.cli.streams.notes import note
from analyzer.cli.streams.terminal import is_terminal, style_for
from analyzer.units import count
from traces.errors import UsageError

if TYPE_CHECKING:
    from analyzer.analysis import Analysis
    from analyzer.explained import Explained


@dataclass(frozen=True)
class Document:
    """One document: its format, its file or None for stdout, and whether it only answers where it is text."""

    form: str
    target: Path | None
    briefly: bool = False

    @property
    def printed(self) -> bool:
        """Whether it goes to stdout."""
        return self.target is None or str(self.target) == "-"


def plan(
    stated: str | None,
    targets: Sequence[Path],
    sources: Sequence[Path],
    forms: Sequence[str] = output.FORMATS,
    *,
    briefly: bool = False,
) -> tuple[Document, ...]:
    """The documents a call asks for, everything wrong with them told before any work.

    Args:
        stated: The format asked for by name.
        targets: The files asked for.
        sources: What is read, and must not be written over.
        forms: The formats there are.
        briefly: Whether text only answers.

    Raises:
        UsageError: a file could not be written, its name means no format, or one format is stated for several files.
    """
    if stated is not None and len(targets) > 1:
        raise UsageError(
            "one --format cannot be that of several files",
            where="--format",
            fix="leave it out: the endings of the files name their formats",
        )
    places: Sequence[Path | None] = targets or [None]
    documents = tuple(Document(output.format_of(place, stated), place, briefly) for place in places)
    for document in documents:
        if document.form not in forms:
            raise UsageError(
                f"there is no {document.form} of this", where="-o/--output", fix=f"there is {', '.join(forms)}"
            )
        output.check(document.target, sources)
    names = [os.path.abspath(document.target) for document in documents if document.target and not document.printed]
    if len(names) != len(set(names)) or sum(document.printed for document in documents) > 1:
        raise UsageError("two reports would be written to one place", where="-o/--output", fix="give each its own name")
    return documents


def write(explained: Explained, documents: Sequence[Document], *, redacted: bool) -> None:
    """Write every document; the screen shows names and paths as they are, everything else only what anybody may see."""
    analysis = shown = explained.analysis
    if redacted:
        from analyzer.report.redact import redact
        from analyzer.report.redact.here import project

        shown = redact(analysis, project())
    for document in documents:
        on_screen = document.printed and document.form == "text" and is_terminal(sys.stdout)
        if document.form == "html":
            from analyzer.report import html
            from analyzer.report.from_trace import from_trace

            deliver(document, html.render(shown, from_trace(explained, redacted=redacted)))
            continue
        deliver(document, _rendered(analysis if on_screen else shown, document, redacted))
        if document.form == "sarif":
            _say_what_is_left_out(shown)
        if document.form == "github":
            from analyzer.report import markdown

            append_summary(markdown.render(shown, redacted=redacted))


def _say_what_is_left_out(analysis: Analysis) -> None:
    """An empty log would read as if nothing had been found."""
    from analyzer.report import sarif

    left_out = sarif.unplaced(analysis)
    if left_out:
        what = f"{count(left_out, 'finding')} without a line of your code left out of the SARIF log"
        note(f"{what}; record with_stack=True to name lines")


def deliver(document: Document, text: str) -> None:
    """Print a document, or write its file and say so."""
    output.write(output.encodable(text) if document.printed else text, document.target)
    if not document.printed:
        click.echo(f"wrote {document.target}", err=True)


def _rendered(analysis: Analysis, document: Document, redacted: bool) -> str:
    if document.form == "text":
        from analyzer.report import text
        from analyzer.report.style import Style

        style = style_for(sys.stdout) if document.printed else Style()
        return text.render(analysis, style, briefly=document.briefly)
    if document.form == "markdown":
        from analyzer.report import markdown

        return markdown.render(analysis, redacted=redacted)
    from analyzer.report import formats

    return formats.render(analysis, document.form)


def append_summary(text: str) -> None:
    """The report on the page of a GitHub job, where there is one.

    Raises:
        UsageError: the job names a file that cannot be written.
    """
    summary = os.environ.get("GITHUB_STEP_SUMMARY")
    if not summary:
        return
    try:
        with open(summary, "a", encoding="utf-8", newline="\n") as file:
            file.write(text + "\n")
    except OSError as error:
        raise UsageError(
            "the step summary could not be written",
            where="GITHUB_STEP_SUMMARY",
            why=error.strerror,
            fix="let it name a file that can be written, or unset it",
        ) from error
