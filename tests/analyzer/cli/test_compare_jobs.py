"""`advisor compare` of two folders with the ranks of one job each, as traces, summaries and both."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from analyzer.cli.main import advisor
from analyzer.job.one import summary_of
from analyzer.ranks.files import encode
from jobs.simulated import MS, Job
from jobs.two_ranks import write_rank
from running.json_schema import jsonschema


def folder(path: Path, *, summaries: bool = False, **job: Any) -> Path:
    """The ranks of a job, as traces or as summaries of them."""
    path.mkdir(parents=True)
    Job(**job).run().write(path)
    for trace in sorted(path.iterdir()) if summaries else ():
        (path / f"{trace.stem}.summary.json.gz").write_bytes(encode(summary_of(trace)))
        trace.unlink()
    return path


def compared(*args: object) -> dict[str, Any]:
    result = CliRunner().invoke(advisor, ["compare", *map(str, args), "--isolated", "--format", "json"])
    assert result.exit_code == 0, result.output
    found: dict[str, Any] = json.loads(result.stdout)
    return found


@pytest.mark.parametrize("summaries", [False, True])
def test_jobs_on_both_sides_are_compared_as_jobs(tmp_path: Path, summaries: bool) -> None:
    before = folder(tmp_path / "before", summaries=summaries, dp=2, tp=2, late_host={1: 8 * MS})
    after = folder(tmp_path / "after", summaries=summaries, dp=2, tp=2)
    document = compared(before, after)
    job = document["job"]
    assert (job["before"]["held_up_by"], job["before"]["rank"], job["after"]["held_up_by"]) == (
        "late rank",
        1,
        "nobody",
    )
    assert [(one["rank"], one["cause"], one["after_ns"]) for one in job["late"]] == [(1, "host", 0)]
    assert job["before"]["step_ns"] - job["after"]["step_ns"] == pytest.approx(8 * MS, rel=0.1)
    assert {(*one["ranks"],) for one in job["links"]} == {(0, 1), (2, 3), (0, 2), (1, 3)}
    # Ranks wait for each other: they are no repeats of one run.
    assert (document["before"]["runs"], document["after"]["runs"]) == (1, 1)
    assert (document["before"]["names"], document["after"]["names"]) == (["before, rank 0"], ["after, rank 0"])
    schema = json.loads(Path("analyzer/report/comparison/schema.json").read_text())
    jsonschema.validate(document, schema)


def test_a_link_that_became_slower_is_told(tmp_path: Path) -> None:
    before = folder(tmp_path / "before", dp=3, tp=2)
    after = folder(tmp_path / "after", dp=3, tp=2, slow_link={"2": 4.0})
    job = compared(before, after)["job"]
    assert (job["links"][0]["ranks"], job["after"]["held_up_by"]) == ([2, 3], "slow link")
    assert job["links"][0]["before_bytes_per_s"] > 3 * job["links"][0]["after_bytes_per_s"]


@pytest.mark.parametrize("form", ["text", "markdown", "html"])
def test_every_format_tells_of_the_jobs_first(tmp_path: Path, form: str) -> None:
    before = folder(tmp_path / "before", dp=2, late_host={1: 8 * MS})
    after = folder(tmp_path / "after", dp=2)
    result = CliRunner().invoke(advisor, ["compare", str(before), str(after), "--isolated", "--format", form])
    assert result.exit_code == 0, result.output
    # A page draws where steps go above all tables.
    told = ("Job before:", "The jobs", *(() if form == "html" else ("Where each step goes",)))
    at = [result.stdout.find(words) for words in told]
    assert at == sorted(at), at
    assert at[0] > 0


def test_a_job_and_a_single_trace_are_compared_as_runs(tmp_path: Path) -> None:
    before = folder(tmp_path / "before", dp=2)
    alone = write_rank(tmp_path, 0, 5_000)
    assert compared(before, alone)["job"] is None
