"""Played jobs, written as traces, summarised and merged: what `advisor explain` makes of them, without its report."""

from __future__ import annotations

import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import jobs.other_programs
import jobs.schedules  # noqa: F401
from analyzer.explain import explain_facts
from analyzer.facts import Facts
from analyzer.job.summarize import summarize
from analyzer.ranks.document import Job
from analyzer.ranks.merge import merge
from analyzer.ranks.summary import RankSummary
from jobs.programs import MS, Plan, Play
from jobs.traces import Recorder, write_job
from known.scenarios import RULE_BY_CODE
from traces.reader.read import read


def minutes(host: int, ns: int) -> int:
    """Clocks that nobody sets: minutes apart, and drifting by sixty in a million."""
    return int(ns * (1 + host * 6e-5)) + host * 97_000 * MS


def apart(host: int, ns: int) -> int:
    """Clocks of hosts: apart, and drifting by ten in a million."""
    return int(ns * (1 + host * 1e-5)) + host * 37 * MS


CLOCKS = {"apart": apart, "minutes": minutes}


@cache
def ranks(
    recorder: str | Recorder = "megatron",
    present: tuple[int, ...] | None = None,
    per_host: int = 2,
    clock: str = "apart",
    **plan: Any,
) -> tuple[RankSummary, ...]:
    """The summaries of a job's ranks; of those that are `present` alone."""
    known = {name: dict(value) if isinstance(value, tuple) else value for name, value in plan.items()}
    play = Play(Plan(**{"steps": 4, "microbatches": 3, **known}))
    with tempfile.TemporaryDirectory() as folder:
        paths = write_job(
            play, Path(folder), recorder, clock=CLOCKS[clock], ranks_per_host=per_host,
            ranks=present,
        )  # fmt: skip
        return tuple(_summary(path) for path in paths)


def _summary(path: Path) -> RankSummary:
    """What a rank tells the others. Which of its checks stands behind its own verdict is none of it, and a third of the work."""
    facts = Facts(read(path))
    return summarize(explain_facts(facts, rules=(RULE_BY_CODE["CO003"],)), facts)


def told(recorder: str | Recorder = "megatron", present: tuple[int, ...] | None = None, **plan: Any) -> Job:
    """What is told of a played job."""
    known = {name: tuple(value.items()) if isinstance(value, dict) else value for name, value in plan.items()}
    return merged(recorder, present, **known)


@cache
def merged(recorder: str | Recorder, present: tuple[int, ...] | None, **plan: Any) -> Job:
    return merge(ranks(recorder, present, **plan))


def blamed(job: Job) -> list[tuple[int, str]]:
    return [(one.rank, one.cause) for one in job.late]
