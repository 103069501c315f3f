"""`advisor slim`: a large trace to a small one."""

from __future__ import annotations

from pathlib import Path

import click

from analyzer.cli.progress import ProgressLine
from analyzer.cli.repair import summary
from analyzer.cli.settings import parse_steps


@click.command("slim", short_help="Write a small copy of a trace: some steps, less detail.")
@click.argument("path", type=click.Path(path_type=Path))
@click.option(
    "-o", "--output", required=True, type=click.Path(path_type=Path), metavar="FILE", help="Write here; .gz compresses."
)
@click.option("--steps", "span", metavar="A-B", help="Keep these ProfilerStep numbers only, both included.")
@click.option("--no-python", is_flag=True, help="Leave Python calls and stacks out (with_stack=True).")
@click.option("--no-shapes", is_flag=True, help="Leave shapes, types and values of inputs out (record_shapes=True).")
def command(path: Path, output: Path, span: str | None, no_python: bool, no_shapes: bool) -> None:
    """Write a small copy of a trace: some steps, less detail.

    The copy is a valid trace. With --steps it holds every event that overlaps them, and device work launched in them
    even where it ran later.
    """
    steps = parse_steps(span)
    from traces.rewrite.slim import write_slim

    with ProgressLine() as progress:
        result = write_slim(path, output, steps=steps, python=not no_python, shapes=not no_shapes, progress=progress)
    click.echo(summary(output, result))
