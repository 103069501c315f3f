"""`advisor annotate`: the trace with the diagnosis on its timeline, for Perfetto."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from analyzer.cli.arguments.place import Here
from analyzer.cli.arguments.settings import parse_steps
from analyzer.cli.commands.repair import redaction, summary
from analyzer.cli.streams.closed import confirm
from analyzer.cli.streams.progress import ProgressLine
from traces.arrowless_pandas import import_pandas
from traces.errors import UntrustedTraceError

if TYPE_CHECKING:
    from analyzer.analysis import Analysis


@click.command("annotate", short_help="Write the trace with gaps and findings on its timeline.")
@click.argument("path", type=Here())
@click.option(
    "-o", "--output", required=True, type=click.Path(path_type=Path), metavar="FILE", help="Write here; .gz compresses."
)
@click.option("--steps", "span", metavar="A-B", help="Look at these ProfilerStep numbers only, both included.")
@click.option("--no-redact", is_flag=True, help="Keep full paths, names of machines and users, and what looks secret.")
def command(path: Path, output: Path, span: str | None, no_redact: bool) -> None:
    """Write the trace with gaps and findings on its timeline.

    The copy holds every event of PATH and two tracks more, in a process named advisor: the gaps of the
    device with their causes, and the time that each finding explains. Open it at https://ui.perfetto.dev. As in a
    report, what looks secret, names of machines and users, and paths outside the project are taken out (--no-redact keeps them).
    """
    import_pandas()
    from analyzer.explain import Options
    from analyzer.opening import open_trace
    from traces.rewrite.annotated import write_annotated
    from traces.rewrite.writer import check_output

    # Everything wrong with the call is said before the trace is read.
    check_output(output, path)
    options = Options(steps=parse_steps(span))
    with ProgressLine() as progress:
        explained = open_trace(path, options, progress)
        _check(explained.analysis, path)
        assert explained.facts is not None  # only a report comes without
        from analyzer.views.annotations import events

        result = write_annotated(
            path, output, events(explained.facts, explained.analysis, explained.claims), progress, redaction(no_redact)
        )
    confirm(summary(output, result))
    confirm("open it at https://ui.perfetto.dev: the tracks are in the process advisor")


def _check(analysis: Analysis, path: Path) -> None:
    """Draw nothing on a trace whose gaps may be lost kernels.

    Raises:
        UntrustedTraceError: it is such a trace.
    """
    if analysis.trust.verdict == "unusable":
        reasons = [reason.message for reason in analysis.trust.reasons]
        raise UntrustedTraceError(
            "the trace was read, but cannot be the base of advice",
            where=str(path),
            why=reasons[0] if reasons else None,
            fix="record again; `advisor explain --plain` shows how",
        )
