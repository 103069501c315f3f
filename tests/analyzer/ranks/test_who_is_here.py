"""Folders that hold not all of a job, or more than one run of it: what is told is true of the ranks that are here."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from analyzer.job import explain_job
from analyzer.options import Options
from analyzer.ranks.document import Job
from jobs.merged import blamed, told
from jobs.programs import MS, Plan, Play
from jobs.traces import RECORDERS, trace_of, write_job

DDP: dict[str, Any] = {"program": "ddp", "dp": 4, "steps": 5}
FEW = Options(select=("CO003",))


def explained(*paths: Path) -> Job:
    job = explain_job(paths, FEW, only_first=True).first.analysis.job
    assert job is not None
    return job


@pytest.mark.parametrize("late", [8, 9, 16, 3])
@pytest.mark.parametrize("fault", ["none", "python", "device"])
def test_of_every_eighth_rank_only_those_that_are_here_are_blamed(late: int, fault: str) -> None:
    plan: dict[str, Any] = {"none": {}, "python": {"python": {late: 12 * MS}}, "device": {"device": {late: 1.8}}}[fault]
    job = told("titan", tuple(range(0, 32, 8)), program="sequence", dp=16, tp=2, layers=1, **plan)
    cause = {"python": "host", "device": "device"}.get(fault)
    here = plan and late % 8 == 0
    assert blamed(job) == ([(late, cause)] if here else []), job.verdict.text
    assert all(one.at_most for one in (*job.late, *job.what_if))
    assert "4 of 32 ranks are here" in job.verdict.text


@pytest.mark.parametrize("fault", ["none", "loader"])
def test_ranks_that_recorded_other_numbers_of_steps_are_held_against_each_other_where_they_meet(
    tmp_path: Path, fault: str
) -> None:
    plan: dict[str, Any] = {"loader": {1: 9 * MS}} if fault == "loader" else {}
    kept = {1: range(1, 8), 2: range(2, 6), 3: range(0, 7)}
    paths = write_job(Play(Plan(program="ddp", dp=4, steps=8, **plan)), tmp_path, "titan", kept=kept)
    job = explained(*paths)
    assert [(one.rank, one.cause, one.of) for one in job.late] == ([(1, "host", 4)] if plan else []), job.verdict.text
    assert len(job.steps) == 4


@pytest.mark.parametrize("shared", [True, False])
def test_ranks_in_pairs_that_recorded_other_steps_are_no_job(tmp_path: Path, shared: bool) -> None:
    kept = {2: range(4, 8), 3: range(4, 8)} if not shared else {}
    play = Play(Plan(program="ddp", dp=4, steps=8, loader={2: 9 * MS}))
    paths = write_job(play, tmp_path, "titan", kept={0: range(4), 1: range(4), **kept})
    document = explain_job(paths, FEW, only_first=True).first.analysis
    job = document.job
    assert job is not None
    assert blamed(job) == ([(2, "host")] if shared else [])
    (check,) = (one for one in document.checks if one.rule == "CO003")
    assert check.state == ("fired" if shared else "cannot_tell")
    if not shared:
        assert job.matched.matched
        assert job.verdict.text == (
            "The ranks recorded different steps: record the same ones on all of them; nothing is said of who holds it up."
        )
        # Two of four are matched with each other: what they wait for may be the other two.
        assert any((row.exposed_waiting_most_ns or 0) > 0.9 * (row.exposed_ns or 0) > 0 for row in job.ranks)


def restarted(
    folder: Path, steps: tuple[int, int] = (5, 5), ranks: tuple[int, int] = (4, 4), **plan: Any
) -> list[Path]:
    """Two runs of one job in one folder: the second began ten minutes after the first."""
    paths = []
    for run, (many, world) in enumerate(zip(steps, ranks, strict=True)):
        play = Play(Plan(program="ddp", dp=world, steps=many, seed=run + 1, **plan))
        (folder / f"{run}").mkdir()
        paths += write_job(play, folder / f"{run}", "titan", clock=lambda _, ns, run=run: ns + run * 600_000 * MS)
    return paths


@pytest.mark.parametrize("fault", ["none", "python"])
def test_of_a_job_that_was_started_again_one_run_is_told(tmp_path: Path, fault: str) -> None:
    plan: dict[str, Any] = {"python": {1: 9 * MS}} if fault == "python" else {}
    job = explained(*restarted(tmp_path, **plan))
    assert blamed(job) == ([(1, "host")] if plan else []), job.verdict.text
    assert job.verdict.held_up_by == ("late rank" if plan else "nobody"), job.verdict.text
    assert sum(row.state == "doubled" for row in job.ranks) == 4


@pytest.mark.parametrize("fault", ["none", "python"])
def test_ranks_of_two_runs_are_never_mixed(tmp_path: Path, fault: str) -> None:
    """Of the run before the restart ranks 0 and 3 recorded to the end, of the one after it ranks 1 and 2."""
    plan: dict[str, Any] = {"python": {1: 9 * MS}} if fault == "python" else {}
    paths = []
    for run, kept in enumerate(({1: range(2), 2: range(2)}, {0: range(3), 3: range(3)})):
        play = Play(Plan(program="ddp", dp=4, steps=5, seed=run + 1, **plan))
        (tmp_path / f"{run}").mkdir()
        clock = lambda _, ns, run=run: ns + run * 600_000 * MS  # noqa: E731
        paths += write_job(play, tmp_path / f"{run}", "titan", clock=clock, kept=kept)
    job = explained(*paths)
    assert blamed(job) == ([(1, "host")] if plan else []), job.verdict.text
    assert len({Path(row.file or "").parent.name for row in job.ranks if row.state == "ok"}) == 1


@pytest.mark.parametrize("fault", ["none", "python"])
def test_one_list_of_the_events_of_all_ranks_is_split(tmp_path: Path, fault: str) -> None:
    plan: dict[str, Any] = {"python": {1: 9 * MS}} if fault == "python" else {}
    play = Play(Plan(**DDP, **plan))
    documents = [trace_of(play, rank, RECORDERS["titan"], 0).document() for rank in range(4)]
    whole = {key: value for key, value in documents[0].items() if key != "distributedInfo"}
    whole["traceEvents"] = []
    for rank, document in enumerate(documents):
        for event in document["traceEvents"]:
            pid = event.get("pid")
            whole["traceEvents"].append(
                event | {"pid": pid + 100_000 * rank} if isinstance(pid, int) and pid > 100 else event
            )
    path = tmp_path / "merged.json"
    path.write_text(json.dumps(whole))
    found = explain_job([path], FEW, only_first=True)
    # Which rank is whose stands nowhere: told as one process with several devices, or as ranks, but blaming nobody wrongly.
    job = found.first.analysis.job
    assert job is None or blamed(job) in ([], [(1, "host")] if plan else [])
