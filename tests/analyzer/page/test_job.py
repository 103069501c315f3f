"""A job in every format: who holds it up comes first, waits are hatched, and nothing is said that the document does not say."""

from __future__ import annotations

import json
import re

import msgspec
import pytest

from analyzer.analysis import Analysis
from analyzer.page.job import LATE_HEADS, job_page
from analyzer.ranks.merge import merge
from analyzer.report import html, markdown, sarif, svg, text
from jobs.simulated import MS, Job
from showing import analyses


def analysis_of(job: Job, present: tuple[int, ...] | None = None) -> Analysis:
    ranks = [one for one in job.run().summaries() if present is None or one.rank in present]
    return msgspec.structs.replace(analyses.example(), job=merge(ranks, name="run7"))


LATE = Job(dp=4, steps=6, late_host={1: 8 * MS}, from_step=2)


def test_the_page_says_who_costs_how_much_since_when_and_why() -> None:
    page = job_page(analysis_of(LATE).job)
    assert page is not None
    assert page.title == "Job run7: 4 ranks, 24 ms a step"
    assert page.bars[0].rank == 1
    assert [bar.late for bar in page.bars] == [True, False, False, False]
    for bar in page.bars:
        assert 0.99 < bar.work_ratio + bar.move_ratio + bar.wait_ratio <= 1.0001
    assert page.bars[0].wait_ratio < 0.01
    assert all(bar.wait_ratio > 0.15 for bar in page.bars[1:])
    assert dict(zip(LATE_HEADS, page.late[0], strict=True)) == {
        "Late rank": "1", "Costs the job a step": "5.3 ms (22 %)", "Late in": "4 of 4 steps, from step 2",
        "Cause": "host", "Why": "Python on its host",
    }  # fmt: skip
    heat = {row.rank: row.ratios for row in page.heat}
    assert all(ratio < 0.01 for ratio in heat[1])
    assert heat[0][0] < 0.02 < heat[0][2]


def test_another_recording_of_the_same_ranks_is_one_line() -> None:
    """A profiler that records each thousandth step leaves a folder for each: the last is shown, the others are not lost."""
    last = Job(dp=4, steps=6).run().summaries()
    first = [
        msgspec.structs.replace(
            one, file=f"iteration_10/{one.file}", sha256="1" * 64, origin_ns=one.origin_ns - 60_000 * MS
        )
        for one in last
    ]
    page = job_page(msgspec.structs.replace(analyses.example(), job=merge([*first, *last], name="run7")).job)
    assert page is not None
    (line,) = [note for note in page.notes if note.startswith("not used")]
    assert line.startswith("not used: iteration_10/")
    assert " and 3 more files: another recording of these ranks" in line


@pytest.mark.parametrize(("steps", "words"), [(4, "a step"), (1, "in all")])
def test_of_ranks_with_one_step_all_that_was_recorded_is_told(steps: int, words: str) -> None:
    job = analysis_of(Job(dp=4, steps=6, late_host={1: 8 * MS})).job
    assert job is not None
    page = job_page(msgspec.structs.replace(job, steps=job.steps[:steps]))
    assert page is not None
    assert page.title.endswith(words)
    assert ("step" in page.verdict) is (steps > 1)
    # Titles and small tables are of the same as the sentences.
    headed = " ".join((*page.late_heads, *page.ideal_heads, *page.rank_heads, *page.blame()[0], *page.ideals()))
    assert (" step" in headed) is (steps > 1)


def test_sarif_tells_the_job_beside_its_results() -> None:
    """It has no place in the code, and a result without one would be rejected."""
    job = analysis_of(LATE)
    [run] = json.loads(sarif.render(job))["runs"]
    [invocation] = run["invocations"]
    assert invocation["executionSuccessful"] is True
    texts = [one["message"]["text"] for one in invocation["toolExecutionNotifications"]]
    assert job.job is not None
    assert texts[0] == f"Job run7: 4 ranks, 24 ms a step. {job.job.verdict.text}"
    assert texts[1].startswith("rank 1 costs the job a step 5.3 ms (22 %), late in 4 of 4 steps, from step 2, host: ")
    assert {one["level"] for one in invocation["toolExecutionNotifications"]} == {"note"}
    assert all(result["locations"] for result in run["results"])
    [alone] = json.loads(sarif.render(analyses.example()))["runs"]
    assert "invocations" not in alone


def test_a_trace_on_its_own_has_no_job() -> None:
    assert job_page(None) is None
    assert "Job" not in text.render(analyses.example())


@pytest.mark.parametrize("render", [text.render, markdown.render, html.render, svg.render])
def test_the_verdict_of_the_job_stands_before_that_of_the_rank(render) -> None:
    shown = re.sub(r"\s+", " ", render(analysis_of(LATE)))
    verdict = (
        "The others wait 5.3 ms on average of each 24 ms step for rank 1, late from step 2 on: Python on its host."
    )
    assert verdict in shown
    # `analyses.example` is of a rank bound by its input.
    own = shown.find("nput-bound", shown.find("<body") if "<body" in shown else 0)
    assert own < 0 or shown.index(verdict) < own


def test_waits_are_hatched_in_drawings() -> None:
    for render in (html.render, svg.render):
        shown = render(analysis_of(LATE))
        assert 'class="j-hatch"' in shown
        assert "waits for others" in shown
        assert "rank 0, step 3: waits for" in shown


def test_the_page_is_called_by_the_job_and_its_figures_are_of_the_job() -> None:
    shown = html.render(analysis_of(LATE))
    assert "<h1>run7</h1>" in shown
    assert "a step of the job now" in shown
    assert "with rank 1 as its peers" in shown


def test_of_missing_ranks_costs_are_said_to_be_at_most() -> None:
    page = job_page(analysis_of(LATE, (0, 1)).job)
    assert page is not None
    assert page.title.startswith("Job run7: 2 of 4 ranks")
    assert page.late[0][1].startswith("up to ")
    assert all(less.startswith("up to ") for _, _, less in page.ideal)


def test_names_of_a_job_are_no_markup() -> None:
    base = analysis_of(LATE)
    assert base.job is not None
    evil = msgspec.structs.replace(
        base, job=msgspec.structs.replace(base.job, name="<script>alert(1)</script>\x1b[31m")
    )
    for render in (text.render, markdown.render, html.render, svg.render):
        shown = render(evil)
        # In plain text, and in Markdown's code, an angle bracket is one; what would move the cursor goes everywhere.
        assert render in (text.render, markdown.render) or "<script>alert" not in shown
        assert "\x1b[31m" not in shown


def test_where_no_collective_could_be_matched_waits_are_unknown_not_nothing() -> None:
    analysis = analysis_of(LATE)
    assert analysis.job is not None
    alone = msgspec.structs.replace(analysis.job.matched, matched=0)
    job = msgspec.structs.replace(analysis.job, matched=alone)
    page = job_page(job)
    assert page is not None
    assert {bar.waits for bar in page.bars} == {"unknown"}
    unmatched = msgspec.structs.replace(analysis, job=job)
    for render in (text.render, markdown.render, html.render, svg.render):
        shown = render(unmatched)
        assert "no wait seen" not in shown
        assert "waits 0 ns" not in shown
    rows = [line for line in text.render(unmatched).splitlines() if line.startswith("  rank ") and "waits" in line]
    assert len(rows) == len(page.bars)
    for row, bar in zip(rows, page.bars, strict=True):
        assert f"{bar.step}, waits unknown" in row
        assert row.count("unknown") == 1, "nor what a rank is bound by, once more in the same word"
    assert "in collectives, waiting or not" in text.render(unmatched)
    # Where some were matched, nothing waited for is nothing.
    known = job_page(analysis.job)
    assert known is not None
    assert "unknown" not in {bar.waits for bar in known.bars}
    assert "no wait seen" in text.render(analysis)
