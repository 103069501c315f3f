"""Who is asked on the command line to read the ranks of a job."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from analyzer.job.engines import Engine


@dataclass(frozen=True)
class Engines:
    """See `analyzer.job.engines.choose`."""

    jobs: int | None
    scheduler: str | None
    scheduler_file: Path | None

    def reading(self, places: Sequence[Path | str]) -> Engine:
        """The engine for some files.

        Raises:
            UsageError: More than one is asked for.
        """
        from analyzer.job.engines.choose import engine_for

        return engine_for([str(place) for place in places], self.jobs, self.scheduler, self.scheduler_file)

    def left_aside(self) -> str:
        """What is to be said where one trace is read, which this process does; empty where no more than that was asked for."""
        named = {
            "--jobs": self.jobs is not None and self.jobs > 1,
            "--scheduler": self.scheduler is not None,
            "--scheduler-file": self.scheduler_file is not None,
        }
        asked = " and ".join(option for option, given in named.items() if given)
        return f"{asked} is of no use here: it is for the ranks of a job, and one trace is read" if asked else ""


_OPTIONS = (
    click.option(
        "--jobs", type=click.IntRange(min=1), metavar="N", help="Read so many ranks at once (default: all cores)."
    ),
    click.option("--scheduler", metavar="ADDRESS", help="Read ranks on the workers of this Dask scheduler."),
    click.option(
        "--scheduler-file", type=click.Path(path_type=Path), metavar="FILE", help="Its address is in here (SLURM)."
    ),
)


def engine_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds the options that say who reads ranks: `jobs`, `scheduler` and `scheduler_file`."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command
