"""`advisor compare`: did my change help?"""

from __future__ import annotations

import datetime
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from analyzer.cli.arguments import settings, sides
from analyzer.cli.arguments.place import Here
from analyzer.cli.explaining import documents
from analyzer.cli.explaining.documents import Document
from analyzer.cli.streams import remembering
from analyzer.cli.streams.output import NamedChoice
from analyzer.cli.streams.terminal import style_for
from analyzer.report.comparison.formats import MODULES
from traces.errors import UntrustedTraceError

if TYPE_CHECKING:
    from analyzer.compare.comparison import Comparison
    from analyzer.compare.gate import GateResult
    from analyzer.compare.snapshot import Snapshot

GATE_FAILED = 1
FORMATS = tuple(MODULES)


@click.command("compare", short_help="Say whether a change helped, beyond noise.")
@click.argument("paths", nargs=-1, type=Here(), metavar="BEFORE... AFTER...")
@click.option(
    "--baseline", metavar="NAME", help="Take BEFORE from a saved baseline (or its file); every PATH is then AFTER."
)
@click.option("--format", "stated", type=NamedChoice(FORMATS), help="Print in this format.")
@click.option(
    "-o", "--output", "targets", type=click.Path(path_type=Path), metavar="FILE", multiple=True,
    help="Write to FILE; its ending (.md, .html, .json, .txt) names the format. May be repeated.",
)  # fmt: skip
@click.option(
    "--gate", "gate_text", metavar="LIMIT",
    help="Exit with 1 on a real regression beyond the limit: step_ns<=+3%, several with commas, or a file of them. "
    "Without it the gate of advisor.toml holds.",
)  # fmt: skip
@click.option(
    "--config", "config_file", type=click.Path(path_type=Path), metavar="FILE",
    help="Read this advisor.toml or pyproject.toml instead of the nearest one.",
)  # fmt: skip
@click.option("--isolated", is_flag=True, help="Read no configuration file.")
@click.option("--no-cache", is_flag=True, help="Decode large traces again, and keep nothing of them for the next time.")
@click.option(
    "--remember",
    is_flag=True,
    help="Keep what was promised and what was measured, on this machine, for `advisor calibration`.",
)
@click.option("--no-redact", is_flag=True, help="Keep full paths, names of machines and users, and what looks secret.")
@click.pass_context
def command(
    ctx: click.Context,
    paths: tuple[Path, ...],
    baseline: str | None,
    stated: str | None,
    targets: tuple[Path, ...],
    gate_text: str | None,
    config_file: Path | None,
    isolated: bool,
    no_cache: bool,
    remember: bool,
    no_redact: bool,
) -> None:
    """Say whether a change helped, beyond noise.

    BEFORE and AFTER are traces, or folders with several runs of one configuration. Two paths are one side each;
    an even number of files is split in the middle. Folders with the ranks of one job each, or their summaries, are
    compared as jobs.
    """
    from msgspec.structs import replace

    from analyzer.calibration.taken import of_comparison
    from analyzer.compare.comparison import compare
    from analyzer.compare.gate import apply_gate, parse_gate

    # Everything wrong with the call is said before a trace is read.
    before, after = sides.traces_of(paths, baseline)
    planned = documents.plan(stated, targets, [*before, *after], FORMATS)
    config = settings.configured(config_file, isolated=isolated)
    limits = parse_gate(gate_text) if gate_text is not None else config.gate
    redacted = not no_redact
    first = sides.saved(baseline, redacted=redacted) if baseline is not None else []
    options = replace(settings.options_of(config), cached=not no_cache)
    read = [sides.read(side, options, redacted=redacted) for side in (before, after)]
    one, other = sides.told_apart(read, (before, after))
    if first:
        second, job = other.runs, None
    else:
        first, second, job = sides.jobs_in(one, other, sides.names_of(paths), redacted=redacted)
    comparison = compare(first, second, job)
    gate = apply_gate(comparison, limits) if limits else None
    write(comparison, gate, planned)
    if remember:
        remembering.keep(of_comparison(comparison, datetime.date.today().isoformat(), on_device=_on_device(first)))
    if any(run.trust == "unusable" for run in (*first, *second)):
        ctx.exit(UntrustedTraceError.exit_code)
    ctx.exit(GATE_FAILED if gate is not None and not gate.passed else 0)


def _on_device(runs: Sequence[Snapshot]) -> bool:
    return any(run.kernels_ns for run in runs)


def write(comparison: Comparison, gate: GateResult | None, planned: Sequence[Document]) -> None:
    """Write every document of a comparison."""
    for document in planned:
        documents.deliver(document, rendered(comparison, gate, document))
        if document.form == "github":
            from analyzer.report.comparison import markdown

            documents.append_summary(markdown.render(comparison, gate))


def rendered(comparison: Comparison, gate: GateResult | None, document: Document) -> str:
    """A comparison in the format of a document."""
    if document.form == "text":
        from analyzer.report.comparison import text
        from analyzer.report.style import Style

        return text.render(comparison, gate, style_for(sys.stdout) if document.printed else Style())
    from analyzer.report.comparison import formats

    return formats.render(comparison, gate, document.form)
