"""`advisor repair`: a damaged trace to one that every viewer opens."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from analyzer.cli.arguments.place import Here
from analyzer.cli.streams.closed import confirm
from analyzer.cli.streams.progress import ProgressLine
from analyzer.page.words.safe import clean
from analyzer.units import count

if TYPE_CHECKING:
    from traces.rewrite.mended import Rewritten
    from traces.rewrite.redaction import Redaction
    from traces.trace import Repair


@click.command("repair", short_help="Write a repaired copy of a damaged trace.")
@click.argument("path", type=Here())
@click.option(
    "-o", "--output", required=True, type=click.Path(path_type=Path), metavar="FILE", help="Write here; .gz compresses."
)
@click.option("--no-redact", is_flag=True, help="Keep full paths, names of machines and users, and what looks secret.")
def command(path: Path, output: Path, no_redact: bool) -> None:
    """Write a repaired copy of a damaged trace.

    Reads what is readable of PATH (- is the standard input), in whatever compression and encoding, and writes it as
    valid JSON that Perfetto and other tools open. Every readable event is kept, with the times it states, also those that
    explain does not believe (a negative duration, say). As in a report, what looks secret, names of machines and users,
    and paths outside the project are taken out of it (--no-redact keeps them).
    """
    from traces.rewrite.mended import write_mended

    with ProgressLine() as progress:
        result = write_mended(path, output, progress, redaction=redaction(no_redact))
    if not result.repairs:
        confirm("nothing had to be repaired: the file is valid JSON, and what its events state is kept")
    confirm(summary(output, result))


def redaction(no_redact: bool) -> Redaction | None:
    """What a copy of a trace passes, so that it may be handed around as a report may; None where nobody wants that."""
    if no_redact:
        return None
    from analyzer.report.redact import cleaner
    from analyzer.report.redact.here import project
    from traces.rewrite.redaction import Redaction

    return Redaction(cleaner(project()))


def summary(output: Path, result: Rewritten) -> str:
    """What was repaired, a line each, and `wrote small.json.gz: 12,345 events, 1.2 MB`."""
    repaired = "".join(f"{_repaired(repair)}\n" for repair in result.repairs)
    size = result.size_bytes
    long = (
        f"{size / 1e6:.1f} MB" if size >= 100_000 else f"{size / 1e3:.0f} kB" if size >= 1_000 else count(size, "byte")
    )
    return f"{repaired}{_redacted(result.redaction)}wrote {clean(str(output))}: {count(result.events, 'event')}, {long}"


def _redacted(done: Redaction | None) -> str:
    """`redacted: 12 texts, 3 keys beside the events; --no-redact keeps them`; nothing where there was nothing."""
    if done is None or not (done.texts or done.keys or done.unread):
        return ""
    parts = [
        *([count(done.texts, "text")] if done.texts else []),
        *([count(done.keys, "key beside the events", "keys beside the events")] if done.keys else []),
        *([f"{count(done.unread, 'event')} that could not be looked through"] if done.unread else []),
    ]
    return f"redacted: {', '.join(parts)}; --no-redact keeps them\n"


def _repaired(repair: Repair) -> str:
    where = f", first at byte {repair.first_offset:,}" if repair.first_offset is not None else ""
    number = f", event {repair.first_event:,}" if repair.first_event is not None else ""
    return f"repaired: {repair.kind} x{repair.count:,}{where}{number}: {clean(repair.message)}"
