"""Which engine reads the ranks: as asked for, else as many processes here as there are cores and memory for."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from analyzer.job.engines import Engine
from analyzer.job.engines.local import HereEngine, ProcessesEngine, jobs_for
from traces.errors import UsageError


def engine_for(
    places: Sequence[str], jobs: int | None = None, scheduler: str | None = None, scheduler_file: Path | None = None
) -> Engine:
    """The engine for some files.

    Args:
        places: Paths or URLs.
        jobs: Processes here; None for as many as there are cores and memory for.
        scheduler: Address of a Dask scheduler.
        scheduler_file: File with that address.

    Raises:
        UsageError: More than one of them is asked for.
    """
    asked = [name for name, value in _named(jobs, scheduler, scheduler_file) if value is not None]
    if len(asked) > 1:
        raise UsageError(f"{' and '.join(asked)} exclude one another", fix="name one of them")
    if scheduler is not None or scheduler_file is not None:
        from analyzer.job.engines.cluster import ClusterEngine

        return ClusterEngine(scheduler, scheduler_file)
    many = min(jobs, len(places)) if jobs is not None else jobs_for(places)
    return ProcessesEngine(many) if many > 1 else HereEngine()


def _named(
    jobs: int | None, scheduler: str | None, scheduler_file: Path | None
) -> tuple[tuple[str, int | str | Path | None], ...]:
    return (("--jobs", jobs), ("--scheduler", scheduler), ("--scheduler-file", scheduler_file))
