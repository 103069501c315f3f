"""A story of several ranks, told as a folder of their traces."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from analyzer.analysis import Analysis
from analyzer.job import explain_job
from analyzer.ranks.document import Job
from building.builders import TraceBuilder
from stories.story import Story


@dataclass(frozen=True)
class JobStory(Story):
    """A story whose world is a job.

    Args:
        play: Builds the world of each rank.
        held_up: What may be said to hold the job up; empty where several readings are.
        late: Ranks with the classes of cause that are true of them; nobody else may be blamed.
    """

    play: Callable[[], tuple[TraceBuilder, ...]] = tuple
    held_up: tuple[str, ...] = ()
    late: tuple[tuple[int, str], ...] = ()

    @cached_property
    def analysis(self) -> Analysis:
        """What is told of the rank that is to be looked at first, and of the job."""
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            paths = [world.write(folder / f"rank_{rank}.json") for rank, world in enumerate(self.play())]
            return explain_job(paths, only_first=True).first.analysis

    @property
    def job(self) -> Job:
        """What is told of the job."""
        job = self.analysis.job
        assert job is not None
        return job

    @property
    def untrue(self) -> list[str]:
        """What is told and not so."""
        said = self.job.verdict.held_up_by
        wrong = [f"held up by {said}"] if self.held_up and said not in (*self.held_up, "not clear") else []
        blamed = [(one.rank, one.cause) for one in self.job.late]
        return super().untrue + wrong + [f"late {one}" for one in blamed if one not in self.late]

    @property
    def missing(self) -> list[str]:
        """What is not told and so."""
        said = self.job.verdict.held_up_by
        silent = said == "not clear" and bool(self.held_up) and "not clear" not in self.held_up
        missing = [f"held up by {'/'.join(self.held_up)}"] if silent else []
        ranks = {one.rank for one in self.job.late}
        return super().missing + missing + [f"late {rank}" for rank in {one[0] for one in self.late} - ranks]

    @property
    def text(self) -> str:
        """All that is said of the job, and of verdict and findings of its first rank."""
        causes = [one.cause_detail for one in self.job.late]
        return "\n".join([self.job.verdict.text, *causes, super().text])
