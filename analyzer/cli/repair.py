"""`advisor repair`: a damaged trace to one that every viewer opens."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from analyzer.cli.progress import ProgressLine
from analyzer.report.safe import clean

if TYPE_CHECKING:
    from traces.rewrite.mended import Rewritten
    from traces.trace import Repair


@click.command("repair", short_help="Write a repaired copy of a damaged trace.")
@click.argument("path", type=click.Path(path_type=Path))
@click.option(
    "-o", "--output", required=True, type=click.Path(path_type=Path), metavar="FILE", help="Write here; .gz compresses."
)
def command(path: Path, output: Path) -> None:
    """Write a repaired copy of a damaged trace.

    Reads what is readable of PATH (- is the standard input), in whatever compression and encoding, and writes it as
    valid JSON that Perfetto and other tools open. Every readable event is kept as it was written.
    """
    from traces.rewrite.mended import write_mended

    with ProgressLine() as progress:
        result = write_mended(path, output, progress)
    if not result.repairs:
        click.echo("nothing had to be repaired")
    click.echo(summary(output, result))


def summary(output: Path, result: Rewritten) -> str:
    """What was repaired, a line each, and `wrote small.json.gz: 12,345 events, 1.2 MB`."""
    repaired = "".join(f"{_repaired(repair)}\n" for repair in result.repairs)
    size = result.size_bytes
    megabytes = f"{size / 1e6:.1f} MB" if size >= 100_000 else f"{size / 1e3:.0f} kB"
    return f"{repaired}wrote {clean(str(output))}: {result.events:,} events, {megabytes}"


def _repaired(repair: Repair) -> str:
    where = f", first at byte {repair.first_offset:,}" if repair.first_offset is not None else ""
    number = f", event {repair.first_event:,}" if repair.first_event is not None else ""
    return f"repaired: {repair.kind} x{repair.count:,}{where}{number}: {clean(repair.message)}"
