"""`advisor slim`: a large trace to a small one."""

from __future__ import annotations

from pathlib import Path

import click

from analyzer.cli.arguments.place import Here
from analyzer.cli.arguments.settings import parse_steps
from analyzer.cli.commands.repair import redaction, summary
from analyzer.cli.streams.closed import confirm
from analyzer.cli.streams.notes import note
from analyzer.cli.streams.progress import ProgressLine


@click.command("slim", short_help="Write a small copy of a trace: some steps, less detail.")
@click.argument("path", type=Here())
@click.option(
    "-o", "--output", required=True, type=click.Path(path_type=Path), metavar="FILE", help="Write here; .gz compresses."
)
@click.option("--steps", "span", metavar="A-B", help="Keep these ProfilerStep numbers only, both included.")
@click.option("--no-python", is_flag=True, help="Leave Python calls and stacks out (with_stack=True).")
@click.option("--no-shapes", is_flag=True, help="Leave shapes, types and values of inputs out (record_shapes=True).")
@click.option("--no-redact", is_flag=True, help="Keep full paths, names of machines and users, and what looks secret.")
def command(path: Path, output: Path, span: str | None, no_python: bool, no_shapes: bool, no_redact: bool) -> None:
    """Write a small copy of a trace: some steps, less detail.

    The copy is a valid trace. With --steps it holds every event that overlaps them, and device work launched in them
    even where it ran later. As in a report, what looks secret, names of machines and users, and paths outside the project are
    taken out of it (--no-redact keeps them).
    """
    steps = parse_steps(span)
    from traces.rewrite.slim import write_slim

    with ProgressLine() as progress:
        result = write_slim(
            path,
            output,
            steps=steps,
            python=not no_python,
            shapes=not no_shapes,
            progress=progress,
            redaction=redaction(no_redact),
        )
    confirm(summary(output, result))
    if steps is None and not (no_python or no_shapes):
        note("every event was kept; --steps A-B, --no-python or --no-shapes make the copy smaller")
