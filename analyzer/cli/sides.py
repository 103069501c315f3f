"""The sides of a comparison as they are named on the command line: files, folders, baselines."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from analyzer.cli.progress import ProgressLine
from traces.errors import UsageError

if TYPE_CHECKING:
    from analyzer.compare.snapshot import Snapshot
    from analyzer.explain import Options


def traces_of(paths: Sequence[Path], baseline: str | None) -> tuple[list[Path], list[Path]]:
    """The traces of each side; with a baseline all are of the second.

    Raises:
        UsageError: The number of paths does not say which side each belongs to.
    """
    from analyzer.cli.folders import traces_in

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
    return traces_in(paths[:half]), traces_in(paths[half:])


def snapshots_of(paths: Sequence[Path], options: Options, *, redacted: bool) -> list[Snapshot]:
    """Analyses every trace and keeps what a comparison needs, unless told otherwise without names and secrets.

    Raises:
        UsageError: A path is a report.
    """
    from analyzer.compare.runs import run_at
    from analyzer.opening.saved import is_report

    reports = [path for path in paths if is_report(path)]
    if reports:
        raise UsageError(
            f"{reports[0]} is a report, not a trace",
            where=str(reports[0]),
            fix="compare the traces themselves, or keep a run with `advisor baseline save NAME TRACE`",
        )
    taken = []
    for path in paths:
        with ProgressLine() as progress:
            taken.append(run_at(path, options, progress))
    return shown(taken) if redacted else taken


def saved(baseline: str, *, redacted: bool) -> list[Snapshot]:
    """The runs of a baseline. One written elsewhere is redacted here too, or its names would not be those of the other side."""
    from analyzer.compare.baseline import load_baseline

    runs = list(load_baseline(baseline))
    return shown(runs) if redacted else runs


def shown(runs: Sequence[Snapshot]) -> list[Snapshot]:
    """The runs as anybody may see them."""
    from analyzer.report.redact.here import project
    from analyzer.report.redact.runs import redact_runs

    return redact_runs(runs, project())
