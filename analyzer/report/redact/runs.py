"""Runs of a comparison without names of people, machines and folders: a baseline lives in a repository."""

from __future__ import annotations

from collections.abc import Sequence

from analyzer.compare.snapshot import Snapshot
from analyzer.report.redact import Project, cleaner, mapped


def redact_runs(runs: Sequence[Snapshot], project: Project) -> list[Snapshot]:
    """The same runs with every string made fit to be shown to anybody; doing it twice changes nothing more.

    Args:
        runs: What was taken down of each run.
        project: Where the user's own code lies and what must not be told of this machine.
    """
    text = cleaner(project)
    return [mapped(run, text, text) for run in runs]
