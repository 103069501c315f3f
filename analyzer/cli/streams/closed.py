"""Standard output that the shell closed (`>&-`): what is to be printed there is not lost without a word."""

from __future__ import annotations

import io
from contextlib import suppress
from typing import Any, TextIO

import click

from traces.errors import UsageError


class ClosedOutputError(UsageError):
    """Something was to be printed where nothing can be."""

    def __init__(self) -> None:
        super().__init__(
            "standard output is closed: what was to be printed there is lost",
            fix="leave out `>&-`; what nobody is to see goes to /dev/null, a report into a file by -o",
        )


class _Refusing(io.RawIOBase):
    """Takes no byte."""

    def writable(self) -> bool:
        """As a stream's: it is asked to be told so."""
        return True

    def write(self, _content: Any, /) -> int:
        """Refuse it.

        Raises:
            ClosedOutputError: Always.
        """
        raise ClosedOutputError


def closed_output() -> TextIO:
    """In place of the None that Python has for a closed standard output, on which all printing succeeds."""
    # Written through: what cannot be written must not wait for the end of the process.
    return io.TextIOWrapper(_Refusing(), "utf-8", write_through=True)  # type: ignore[type-var]


def confirm(text: str) -> None:
    """Print what was done, which stands without: where standard output is closed nobody wants to be told."""
    with suppress(ClosedOutputError):
        click.echo(text)
