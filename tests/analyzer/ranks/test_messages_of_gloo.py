"""Pipelines over gloo, whose traces state neither group nor peer of a message: told where the two can be known, or why not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from analyzer.job import explain_job
from analyzer.job.one import summary_of
from analyzer.options import Options
from analyzer.ranks.document import Job
from analyzer.ranks.merge import measure
from analyzer.ranks.waiting.replay import Replay
from building.builders import TraceBuilder
from jobs.gloo_stages import gpipe, served

ONE_GROUP = {"pg_count": 1}


def job(folder: Path, work_ms: tuple[float, ...], microbatches: int, **how: Any) -> Job:
    return of(folder, gpipe(work_ms, microbatches, **how))


def of(folder: Path, ranks: list[TraceBuilder]) -> Job:
    paths = [one.write(folder / f"rank{rank}.json") for rank, one in enumerate(ranks)]
    found = explain_job(paths, Options(select=("CO",)), only_first=True).first.analysis.job
    assert found is not None
    return found


@pytest.mark.parametrize("microbatches", [1, 2, 8])
def test_two_stages_wait_as_long_as_the_schedule_says(tmp_path: Path, microbatches: int) -> None:
    found = job(tmp_path, (10.0, 10.0), microbatches)
    assert found.pipeline is not None
    assert found.pipeline.bubble_ratio == pytest.approx(1 / (microbatches + 1), abs=0.03)
    assert (found.late, found.matched.contradicting) == ((), 0)
    assert found.verdict.held_up_by == "nobody"


def test_the_stage_that_has_most_to_do_is_named(tmp_path: Path) -> None:
    found = job(tmp_path, (30.0, 5.0), 8)
    assert [(one.rank, one.cause) for one in found.late] == [(0, "stage")]
    best = next(one for one in found.what_if if one.scope == "stage")
    # Balanced, each computes 17.5 ms forward and twice that backward of eight microbatches, one bubble and messages beside.
    assert best.step_ns == pytest.approx(9 * 3 * 17.5e6, rel=0.1)


def test_messages_of_three_stages_are_told_by_the_inputs_of_their_calls(tmp_path: Path) -> None:
    found = job(tmp_path, (10.0, 10.0, 10.0), 4, shapes=True, info=ONE_GROUP)
    assert found.pipeline is not None
    assert [stage.ranks for stage in found.pipeline.stages] == [(0,), (1,), (2,)]
    assert found.pipeline.bubble_ratio == pytest.approx(2 / 6, abs=0.03)


def test_the_transfer_of_a_message_is_no_waiting(tmp_path: Path) -> None:
    found = job(tmp_path, (10.0, 10.0), 1, message_ms=8.0)
    assert found.pipeline is not None
    # Each works for 30 ms and waits for the other's 30; of the 76 ms of a step 16 are the two messages.
    assert found.pipeline.bubble_ratio == pytest.approx((60 + 2 * 8) / (2 * 76), abs=0.03)


@pytest.mark.parametrize(("python_ms", "early"), [(0.0, False), (4.0, False), (0.0, True), (4.0, True)])
def test_what_a_stage_does_while_its_messages_are_on_their_way_is_its_own(
    tmp_path: Path, python_ms: float, early: bool
) -> None:
    ranks = gpipe((10.0, 10.0, 10.0), 4, shapes=True, info=ONE_GROUP, python_ms=python_ms, early=early)
    paths = [one.write(tmp_path / f"rank{rank}.json") for rank, one in enumerate(ranks)]
    found = measure([summary_of(path) for path in paths])
    replay = Replay(found.table, found.matched, found.found, found.clocks.start_ns)
    assert replay.as_recorded_ns == pytest.approx(found.step_ns, rel=0.02)
    assert found.pipeline is not None
    assert found.pipeline.work_ns == pytest.approx([4 * (30e6 + 2 * python_ms * 1e6)] * 3, rel=0.03)


def test_ranks_that_one_serves_are_no_stages(tmp_path: Path) -> None:
    found = of(tmp_path, served(3))
    assert found.pipeline is None
    assert found.matched.contradicting == 0


@pytest.mark.parametrize(
    ("shapes", "info"),
    [(False, ONE_GROUP), (True, {"pg_count": 3}), (True, {})],
    ids=["no shapes", "several groups", "nobody counts groups"],
)
def test_of_three_without_a_word_of_peers_it_is_said_what_is_lacking(
    tmp_path: Path, shapes: bool, info: dict[str, Any]
) -> None:
    found = job(tmp_path, (10.0, 10.0, 10.0), 4, shapes=shapes, info=info)
    assert (found.matched.matched, found.pipeline) == (0, None)
    assert "which rank a message goes to" in found.verdict.text


@pytest.mark.parametrize("inputs", ["[", '["", "", "x"]', '["", ""]', '["", "", "99999999999"]', "7"])
def test_inputs_that_say_no_rank_name_nobody(tmp_path: Path, inputs: str) -> None:
    builder = gpipe((10.0, 10.0, 10.0), 2, shapes=True, info=ONE_GROUP)[1]
    for event in builder.events:
        if event["name"].startswith("c10d::"):
            event["args"]["Concrete Inputs"] = inputs
    found = summary_of(builder.write(tmp_path / "rank1.json"))
    assert set(found.collectives.peer) == {None}


def test_a_sender_is_in_its_message_until_it_goes_on(tmp_path: Path) -> None:
    found = summary_of(gpipe((10.0, 10.0), 2)[0].write(tmp_path / "rank0.json")).collectives
    sends = [
        dur for dur, peer, kind in zip(found.dur_ns, found.peer, found.kind, strict=True) if peer == 1 and kind == 0
    ]
    assert max(sends) < 1_000_000


@pytest.mark.parametrize(("info", "members"), [(ONE_GROUP, (0, 1, 2)), ({"pg_count": 2}, ())])
def test_the_one_group_of_a_program_has_all_ranks(
    tmp_path: Path, info: dict[str, Any], members: tuple[int, ...]
) -> None:
    found = job(tmp_path, (10.0, 10.0, 10.0), 4, shapes=True, info=info)
    assert [one.ranks for one in found.groups] == [members]
