"""Where a report goes: a file written whole or not at all, or stdout."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from analyzer.report import formats
from analyzer.report.formats import BY_NAME, ENDINGS
from traces.errors import UsageError
from traces.replacing import replacing

FORMATS = tuple(BY_NAME)

# Before click 8.2 it has no parameter.
if TYPE_CHECKING:
    _Choice = click.Choice[str]
else:
    _Choice = click.Choice


class NamedChoice(_Choice):
    """A choice among formats that knows what else people call them: `htm`, `.md`."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The format; of another word the message says which one it means."""
        if value in self.choices:
            return value
        from analyzer.cli.codes import nearest

        meant = ENDINGS.get(f".{str(value).lower().removeprefix('.')}")
        near = f" Did you mean {meant}?" if meant in self.choices else nearest(str(value), map(str, self.choices))
        self.fail(f"there is no format {value!r}.{near} There is {', '.join(map(str, self.choices))}.", param, ctx)


def format_of(output: Path | None, stated: str | None) -> str:
    """The format that was stated, else the one the file's name means, else text.

    Raises:
        UsageError: the name means none.
    """
    if stated is not None:
        return stated
    if output is None or str(output) == "-":
        return "text"
    known = formats.of(output.name)
    if known is None and output.is_dir():
        raise _is_folder(output)
    if known is None:
        raise UsageError(
            f"the ending of {output.name!r} names no format",
            where="-o/--output",
            fix="end the name in .md, .html, .json, .sarif, .svg or .txt, or add --format",
        )
    return known


def check(output: Path | None, sources: Sequence[Path]) -> None:
    """Refuse, before any work, an output that could not be written or would replace the trace.

    Raises:
        UsageError: it is such an output.
    """
    if output is None or str(output) == "-":
        return
    if output.exists() and any(source.exists() and output.samefile(source) for source in sources):
        raise UsageError("the report would replace the trace", where=str(output), fix="give -o another name")
    if output.is_dir():
        raise _is_folder(output)
    if not output.parent.is_dir():
        raise UsageError("the folder for the report does not exist", where=str(output.parent), fix="create it first")


def _is_folder(output: Path) -> UsageError:
    return UsageError(
        "the report's name is a folder", where=str(output), fix=f"add a file name: {output / 'report.html'}"
    )


def write(text: str, output: Path | None) -> None:
    """Write to stdout, or replace the file in one move so that nobody reads half of it.

    Raises:
        UsageError: the file cannot be written.
    """
    if output is None or str(output) == "-":
        click.echo(text, nl=False, color=True)
    else:
        replace(output, text.encode())


def replace(output: Path, content: bytes, what: str = "report") -> None:
    """Replace a file in one move.

    Args:
        output: The file.
        content: What it is to hold.
        what: What that is, for messages.

    Raises:
        UsageError: the file cannot be written.
    """
    try:
        with replacing(output) as file:
            file.write(content)
    except OSError as error:
        raise UsageError(
            f"the {what} could not be written",
            where=str(output),
            why=error.strerror,
            fix="give -o a place with room that you may write to",
        ) from error


def encodable(text: str) -> str:
    """The text as stdout can carry it: what its encoding lacks is shown as an escape instead of ending the program."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    return text.encode(encoding, "backslashreplace").decode(encoding)
