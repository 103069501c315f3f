"""Several traces: two ranks of a job in which rank 1 is late, and recordings that have nothing to do with each other."""

from __future__ import annotations

from pathlib import Path

from analyzer.job import explain_job
from building.builders import TraceBuilder
from jobs.two_ranks import write_rank


def test_the_late_rank_is_shown_first(tmp_path: Path) -> None:
    paths = [write_rank(tmp_path, 0, 5_000), write_rank(tmp_path, 1, 8_000)]
    job = explain_job(paths)
    assert job.one_job
    assert [row.rank for row in job.first.analysis.ranks] == [1, 0]
    assert [row.late for row in job.first.analysis.ranks] == [True, False]
    assert [row.in_collectives_ns for row in job.first.analysis.ranks] == [2_000_000, 5_000_000]
    assert job.first.analysis.trace.ranks == (1,)
    assert all(item.analysis.ranks == job.first.analysis.ranks for item in job.explained)
    assert "CO003" in {finding.rule for item in job.explained for finding in item.analysis.findings}


def test_equal_ranks_have_no_late_one(tmp_path: Path) -> None:
    job = explain_job([write_rank(tmp_path, 0, 5_000), write_rank(tmp_path, 1, 5_010)])
    assert [row.late for row in job.first.analysis.ranks] == [False, False]


def test_unrelated_traces_stay_apart(tmp_path: Path) -> None:
    paths = []
    for name in ("a.json", "b.json"):
        builder = TraceBuilder()
        builder.step(0, 0, 1_000)
        builder.launch(0, kernel_start=10, kernel_dur=900)
        paths.append(builder.write(tmp_path / name))
    job = explain_job(paths)
    assert not job.one_job
    assert [item.analysis.trace.name for item in job.explained] == ["a.json", "b.json"]
    assert job.first.analysis.ranks == ()


def test_one_trace_is_no_job_of_ranks(tmp_path: Path) -> None:
    assert not explain_job([write_rank(tmp_path, 0, 5_000)]).one_job
