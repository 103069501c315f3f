"""`advisor explain`: from a trace to its report, on the screen, on stdout or in a file."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from analyzer.cli.arguments import settings, several
from analyzer.cli.arguments.engines import Engines, engine_options
from analyzer.cli.arguments.fail_on import SEVERITIES, check_all_ran, fails
from analyzer.cli.arguments.place import Place, parted
from analyzer.cli.explaining import against, alone, assuming, documents
from analyzer.cli.explaining.asked import Asked
from analyzer.cli.explaining.documents import Document
from analyzer.cli.streams import output
from analyzer.cli.streams.notes import note
from analyzer.cli.streams.output import FORMATS, NamedChoice
from analyzer.cli.streams.progress import ProgressLine
from analyzer.cli.streams.terminal import wants_screen
from traces.errors import AdvisorError, UntrustedTraceError, UsageError

if TYPE_CHECKING:
    from analyzer.analysis import Analysis
    from analyzer.explain import Options
    from analyzer.explained import Explained
    from traces.reader.parallel.ahead import Ahead

GATE_FAILED = 1


@dataclass(frozen=True)
class Request:
    """What one call asks for, but for the trace and the rules."""

    documents: tuple[Document, ...]
    asked: bool
    fail_on: str | None
    redacted: bool
    baseline: str | None
    assume: tuple[str, ...] = ()

    @property
    def on_screen(self) -> bool:
        """Whether the terminal UI answers: nothing asks for a document, and a person sits at the terminal."""
        return not self.asked and self.fail_on is None and wants_screen()


@click.command("explain", short_help="Say where each step's time goes and what to change.")
@click.argument("paths", nargs=-1, type=Place(), metavar="PATH...")
@click.option("--format", "stated", type=NamedChoice(FORMATS), help="Print this instead of opening the UI.")
@click.option(
    "-o", "--output", "targets", type=click.Path(path_type=Path), metavar="FILE", multiple=True,
    help="Write to FILE; its ending (.md, .html, .json, .sarif, .svg, .txt) names the format. May be repeated.",
)  # fmt: skip
@click.option("--brief", is_flag=True, help="Print verdict, bar, findings and the first fix: what a pipe gets.")
@click.option("--full", "--plain", "full", is_flag=True, help="Print the whole text instead of opening the UI.")
@click.option("--select", metavar="CODES", help="Run only these rules: codes, prefixes or names, as in DL,SY001.")
@click.option("--ignore", metavar="CODES", help="Leave these rules out.")
@click.option(
    "--assume", metavar="CODES",
    help="Show what these findings give together if they were fixed: codes, prefixes or names, as in DL,PR001.",
)  # fmt: skip
@click.option("--fail-on", type=click.Choice(SEVERITIES), help="Exit with 1 on a finding of this severity or higher.")
@click.option("--steps", "span", metavar="A-B", help="Look at these ProfilerStep numbers only, both included.")
@click.option(
    "--config", "config_file", type=click.Path(path_type=Path), metavar="FILE",
    help="Read this advisor.toml or pyproject.toml instead of the nearest one.",
)  # fmt: skip
@click.option("--isolated", is_flag=True, help="Read no configuration file.")
@click.option(
    "--baseline", metavar="NAME", help="Show what is faster, fixed and new since this baseline, its file, or a trace."
)
@click.option("--deep", is_flag=True, help="Add what HolisticTraceAnalysis says of queues and overlap (takes seconds).")
@click.option("--strict", is_flag=True, help="Refuse a trace that has to be repaired, with exit code 3.")
@click.option("--no-cache", is_flag=True, help="Decode a large trace again, and keep nothing of it for the next time.")
@engine_options
@click.option("--no-redact", is_flag=True, help="Keep full paths, names of machines and users, and what looks secret.")
@click.pass_context
def command(ctx: click.Context, /, paths: tuple[Path | str, ...], **typed: Any) -> None:
    """Say where each step's time goes and what to change.

    PATH is a trace written by torch.profiler (.json or .json.gz), a report that advisor wrote as .html or .json, or - for
    the standard input.

    Several traces, or a folder of them, may be the ranks of one job. Where they say so, the rank that the others wait for
    is shown; in a terminal the key r shows the other ranks. Where they are no job, a terminal offers them to pick from, and
    without PATH the newest traces below this folder.

    In a terminal the result opens as a screen to walk through. Elsewhere, and with --brief, --full, --format, -o or
    --fail-on, it is printed; into a pipe only in brief, unless --full or a format asks for all of it.

    Reports show paths relative to the project and leave out names and secrets.
    """
    # Everything wrong with the call is said before the trace is read.
    asked = Asked(**typed).checked()
    on_screen = not asked.documented and asked.fail_on is None and wants_screen()
    near, urls = parted(paths)
    sources = _sources(near, urls, browsing=not paths and on_screen)
    planned = documents.plan(asked.stated, asked.targets, sources, briefly=asked.briefly(sys.stdout))
    for source in sources:
        settings.check_saved(source, given=asked.chooses, alone=len(sources) == 1 and not urls)
    # With a baseline the trace is read as one of several.
    only = sources[0] if len(sources) == 1 and not urls and asked.baseline is None else None
    with alone.begun(only, strict=asked.strict, cached=not asked.no_cache, on_screen=on_screen) as ahead:
        ctx.exit(_said(sources, urls, asked, planned, ahead))


def _said(
    sources: list[Path], urls: list[str], asked: Asked, planned: tuple[Document, ...], ahead: Ahead | None
) -> int:
    """Read the configuration, and show or write what is asked; the exit code."""
    config = settings.configured(asked.config_file, isolated=asked.isolated)
    request = _request(asked, planned, config.fail_on)
    if asked.baseline is not None:
        against.check(asked.baseline, sources, planned)
    options = asked.options(config)
    if request.on_screen and not urls:
        code = _show(sources, options, asked, config.path, ahead)
        if code is not None:
            return code
    return _answer(sources, urls, options, request, asked.engines, ahead)


def _request(asked: Asked, planned: tuple[Document, ...], fail_on: str | None) -> Request:
    return Request(
        documents=planned,
        asked=asked.documented,
        fail_on=asked.fail_on or fail_on,
        redacted=not asked.no_redact,
        baseline=asked.baseline,
        assume=assuming.codes(asked.assume),
    )


def _sources(near: list[Path], urls: list[str], *, browsing: bool) -> list[Path]:
    """The traces and reports to read from this machine: where none is named, in a terminal, the newest ones."""
    if urls and not near:
        return []
    return (several.newest(Path.cwd()) if browsing else []) or several.sources(near)


def _answer(
    sources: list[Path], urls: list[str], options: Options, request: Request, engine: Engines, ahead: Ahead | None
) -> int:
    """Print and write the answer to one trace, or to several; the exit code says what it means."""
    from analyzer.ranks.files import looks_like_summary

    if not urls and len(sources) == 1 and request.baseline is None and not looks_like_summary(sources[0]):
        if aside := engine.left_aside():
            note(aside)
        return _report(sources[0], options, request, ahead)
    return _report_several([*sources, *urls], options, request, engine)


def _show(paths: list[Path], options: Options, asked: Asked, config: Path | None, ahead: Ahead | None) -> int | None:
    """Open the terminal UI: on one trace, on all ranks of one job, or on the one of several that is picked.

    Returns:
        None where it cannot be loaded; then text is printed.
    """
    if len(paths) > 1:
        return _open(paths, options, asked, config)
    # It is decoded while the interface is imported, whose first screen comes before the trace.
    with alone.decoding(paths[0], ahead, strict=options.strict, cached=options.cached, on_screen=True) as now:
        return _open(paths, options, asked, config, now)


def _open(
    paths: list[Path], options: Options, asked: Asked, config: Path | None, ahead: Ahead | None = None
) -> int | None:
    try:
        from analyzer.tui.app import run
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] != "textual":
            raise
        click.echo("advisor: the terminal UI needs textual, which is not installed; here is the text", err=True)
        return None
    from analyzer.opening.same_job import same_job

    if len(paths) == 1 or same_job(paths):
        return run(paths, options, asked.baseline, ahead, config, lambda: asked.engines.reading(paths))
    from analyzer.tui.pick import pick

    path = pick(paths)
    return 0 if path is None else run([path], options, asked.baseline, config=config)


def _report(path: Path, options: Options, request: Request, ahead: Ahead | None) -> int:
    """Analyse, write the reports, and say with the exit code what it means."""
    # A page draws more of a step than the document holds.
    measured = any(one.form == "html" for one in request.documents)
    explained = alone.explained(path, options, measured=measured, ahead=ahead)
    if options.deep:
        from analyzer.hta.deepen import concerned

        if not concerned(explained.analysis):
            note("--deep adds nothing here: no finding is about queues or overlap")
    return _conclude(explained, path, request)


def _report_several(sources: list[Path | str], options: Options, request: Request, engine: Engines) -> int:
    """The same for several traces, or against a baseline: of one job's ranks the one to look at first, else a line for each."""
    from analyzer.opening import open_paths

    before = against.runs(request.baseline, options, redacted=request.redacted) if request.baseline is not None else []
    with ProgressLine() as progress:
        job = open_paths(sources, options, progress, only_first=True, engine=engine.reading(sources))
    if job.one_job or len(sources) == 1:
        shown = job.first
        if request.baseline is not None:
            since = against.with_since(shown, request.baseline, before, redacted=request.redacted)
            from msgspec.structs import replace

            shown = replace(shown, analysis=since)
        return _conclude(shown, Path(shown.analysis.trace.name), request)
    if request.baseline is not None or any(one.form != "text" or not one.printed for one in request.documents):
        raise UsageError(
            f"{len(sources)} traces were given that are not ranks of one job",
            where="--baseline" if request.baseline is not None else "--format, -o",
            why="a report is of one trace",
            fix="name one of them, or compare them: advisor compare BEFORE AFTER",
        )
    analyses = [item.analysis for item in job.explained]
    for line in several.overview(analyses):
        click.echo(output.encodable(line))
    return _gated(analyses, request.fail_on)


def _conclude(explained: Explained, path: Path, request: Request) -> int:
    """Write the documents; the exit code says what they mean."""
    analysis = assuming.with_assumed(explained.analysis, request.assume)
    if analysis is not explained.analysis:
        # Only `--assume` makes another one: help and refusals need no msgspec.
        from msgspec.structs import replace

        explained = replace(explained, analysis=analysis)
    documents.write(explained, request.documents, redacted=request.redacted)
    if analysis.trust.verdict == "unusable":
        printed = any(document.printed and document.form == "text" for document in request.documents)
        return UntrustedTraceError.exit_code if printed else _distrust(analysis, path)
    return _gated([analysis], request.fail_on)


def _gated(analyses: Sequence[Analysis], fail_on: str | None) -> int:
    """The exit code of what has been shown.

    Raises:
        AdvisorError: No finding fails the gate, but not every check came to its end.
    """
    if any(fails(analysis, fail_on) for analysis in analyses):
        return GATE_FAILED
    check_all_ran(analyses, fail_on)
    return 0


def _distrust(analysis: Analysis, path: Path) -> int:
    """Where the report went elsewhere, say on stderr too why there are no findings.

    Raises:
        AdvisorError: always; its exit code is that of an untrusted trace.
    """
    first, *others = [reason.message for reason in analysis.trust.reasons] or [""]
    more = f" ({len(others)} more in the report)" if others else ""
    error: AdvisorError = UntrustedTraceError(
        "the trace was read, but cannot be the base of advice",
        where=str(path),
        why=f"{first}{more}" if first else None,
        fix="record again; `advisor explain --plain` shows how",
    )
    raise error
