"""`advisor summarize`: from a trace to what the merge of a job needs of it, small enough to travel."""

from __future__ import annotations

from pathlib import Path

import click

from analyzer.cli.arguments.place import Here
from analyzer.cli.streams.output import check, replace
from analyzer.cli.streams.progress import ProgressLine
from traces.errors import UsageError

_ENDINGS = (".json", ".json.gz")


@click.command("summarize", short_help="Write what one rank of a job needs to be merged with the others.")
@click.argument("trace", type=Here())
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), metavar="FILE", required=True,
    help="Write to FILE: .json or .json.gz.",
)  # fmt: skip
@click.option("--no-redact", is_flag=True, help="Keep full paths, names of machines and users, and what looks secret.")
@click.option("--rank", type=click.IntRange(min=0), metavar="N", help="The rank, where the trace does not state it.")
def command(trace: Path, output: Path, no_redact: bool, rank: int | None) -> None:
    """Write what one rank of a job needs to be merged with the others.

    The summary has at most 2 MB, whatever the trace: steps, collectives, kernels by name, findings. `advisor explain` takes
    summaries in place of traces, or beside them, so that each node can summarise its own disk and only summaries travel. What looks
    secret, names of machines and users, and paths outside the project are taken out of it (--no-redact keeps them).
    """
    if not output.name.endswith(_ENDINGS):
        raise UsageError(
            f"a summary is written as .json or .json.gz, not as {output.name}",
            where="-o",
            fix=f"advisor summarize {trace.name} -o rank.summary.json.gz",
        )
    check(output, [trace])
    from analyzer.job.one import summary_of, with_rank
    from analyzer.ranks.files import encode

    with ProgressLine() as progress:
        summary = summary_of(trace, progress=progress)
    summary = summary if rank is None else with_rank(summary, rank)
    if not no_redact:
        from analyzer.report.redact.here import project
        from analyzer.report.redact.summaries import redact_summary

        summary = redact_summary(summary, project())
    data = encode(summary, compress=output.name.endswith(".gz"))
    replace(output, data, "summary")
    click.echo(f"advisor: wrote {output}: rank {_named(summary.rank)}, {len(data):,} bytes", err=True)


def _named(rank: int | None) -> str:
    return "unknown" if rank is None else str(rank)
