"""The sides of a comparison as they are named on the command line: files, folders, baselines."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from analyzer.cli.arguments.once import identity
from analyzer.cli.streams.notes import note
from analyzer.cli.streams.progress import ProgressLine
from traces.errors import UsageError

if TYPE_CHECKING:
    from analyzer.compare.jobs import JobChange
    from analyzer.compare.snapshot import Snapshot
    from analyzer.explain import Options
    from analyzer.ranks.summary import RankSummary


def traces_of(paths: Sequence[Path], baseline: str | None) -> tuple[list[Path], list[Path]]:
    """The traces of each side; with a baseline all are of the second.

    Raises:
        UsageError: The number of paths does not say which side each belongs to.
    """
    from analyzer.cli.arguments.folders import traces_in

    if baseline is not None:
        if not paths:
            raise UsageError("no trace to compare with the baseline", fix="advisor compare --baseline NAME TRACE...")
        return [], traces_in(paths)
    if len(paths) < 2 or len(paths) % 2:
        raise UsageError(
            f"{len(paths)} path{'s' if len(paths) != 1 else ''} given: it is not clear which is before and which after",
            fix="give two paths (files or folders), or as many files before as after",
        )
    half = len(paths) // 2
    before, after = traces_in(paths[:half]), traces_in(paths[half:])
    both = set(map(identity, before))
    same = next((path for path in after if identity(path) in both), None)
    if same is not None:
        note(f"{same} is on both sides: nothing of it can differ")
    return before, after


class Side(NamedTuple):
    """What was read of a side: its runs, and the summaries of the same traces."""

    runs: list[Snapshot]
    summaries: list[RankSummary]


def jobs_in(
    before: Side, after: Side, names: tuple[str, str], *, redacted: bool
) -> tuple[list[Snapshot], list[Snapshot], JobChange | None]:
    """The runs to compare, and both jobs where each side is the ranks of one: then the runs are the lowest rank of both.

    Ranks of a job wait for each other: they are no repeats. Ranks are called alike in every job: its name stands in front.
    """
    from msgspec.structs import replace

    from analyzer.compare.jobs import job_change
    from analyzer.job import one_job
    from analyzer.ranks.merge import merge

    if not (one_job(before.summaries) and one_job(after.summaries)):
        return before.runs, after.runs, None
    both = {one.rank for one in before.summaries} & {one.rank for one in after.summaries} - {None}
    if not both:
        return before.runs, after.runs, None
    rank = min(one for one in both if one is not None)
    first, second = (
        [
            replace(run, name=f"{name}, rank {rank}")
            for run, summary in zip(side.runs, side.summaries, strict=True)
            if summary.rank == rank
        ][:1]
        for side, name in zip((before, after), names, strict=True)
    )
    jobs = [merge(side.summaries, [], name) for side, name in zip((before, after), names, strict=True)]
    if redacted:
        first, second = shown(first), shown(second)
    return first, second, job_change(*jobs)


def told_apart(sides: Sequence[Side], paths: Sequence[Sequence[Path]]) -> list[Side]:
    """The sides, runs of the same name called by as much of their paths as tells them from the others."""
    from msgspec.structs import replace

    from analyzer.job.called import distinct_names

    every = [path for side in paths for path in side]
    names = dict(zip(every, distinct_names(list(map(str, every))), strict=True))
    return [
        side._replace(
            runs=[
                replace(run, name=names[path]) if run.name == path.name else run
                for run, path in zip(side.runs, of, strict=True)
            ]
        )
        for side, of in zip(sides, paths, strict=True)
    ]


def names_of(paths: Sequence[Path]) -> tuple[str, str]:
    """What to call the jobs on both sides: their folders."""
    half = len(paths) // 2
    first, second = ([path if path.is_dir() else path.parent for path in side] for side in (paths[:half], paths[half:]))
    return first[0].resolve().name, second[0].resolve().name


def read(paths: Sequence[Path], options: Options, *, redacted: bool) -> Side:
    """Analyses every trace and keeps what a comparison needs, unless told otherwise without names and secrets.

    Raises:
        UsageError: A path is a report.
    """
    from analyzer.compare.of_summary import snapshot_of_summary
    from analyzer.compare.runs import rank_at, run_at
    from analyzer.opening.saved import is_report
    from analyzer.ranks.files import load, looks_like_summary

    reports = [path for path in paths if is_report(path)]
    if reports:
        raise UsageError(
            f"{reports[0]} is a report, not a trace",
            where=str(reports[0]),
            fix="compare the traces themselves, or keep a run with `advisor baseline save NAME TRACE`",
        )
    taken, summaries = [], []
    for path in paths:
        if looks_like_summary(path):
            summaries.append(load(path, str(path)))
            taken.append(snapshot_of_summary(summaries[-1]))
            continue
        with ProgressLine() as progress:
            if len(paths) == 1:
                taken.append(run_at(path, options, progress))
                continue
            run, summary = rank_at(path, options, progress)
        taken.append(run)
        summaries.append(summary)
    return Side(shown(taken) if redacted else taken, summaries)


def snapshots_of(paths: Sequence[Path], options: Options, *, redacted: bool) -> list[Snapshot]:
    """The runs of a side alone."""
    return read(paths, options, redacted=redacted).runs


def saved(baseline: str, *, redacted: bool) -> list[Snapshot]:
    """The runs of a baseline. One written elsewhere is redacted here too, or its names would not be those of the other side."""
    from msgspec.structs import replace

    from analyzer.compare.baseline import load_baseline

    runs = list(load_baseline(baseline))
    # What is kept numbers its runs; which baseline they are of only its name says.
    name = f"baseline {Path(baseline).stem if baseline.endswith('.json') else baseline}"
    called = [name] if len(runs) == 1 else [f"{name}, {run.name}" for run in runs]
    return [replace(run, name=told) for run, told in zip(shown(runs) if redacted else runs, called, strict=True)]


def shown(runs: Sequence[Snapshot]) -> list[Snapshot]:
    """The runs as anybody may see them."""
    from analyzer.report.redact.here import project
    from analyzer.report.redact.runs import redact_runs

    return redact_runs(runs, project())
