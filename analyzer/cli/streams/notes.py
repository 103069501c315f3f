"""What is worth knowing beside the answer: a line on stderr, whatever names are in it."""

from __future__ import annotations

import click


def note(text: str) -> None:
    r"""Says it in one line: a file may be named `\x1b[2J`, or as a line of ours."""
    from analyzer.page.words.printable import clean

    click.echo(f"advisor: note: {clean(text)}", err=True)
