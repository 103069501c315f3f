"""Two ranks that pass parts of a sequence to one another look like two stages: the words of their group tell."""

from __future__ import annotations

from pathlib import Path

import pytest

from analyzer.job.one import summary_of
from analyzer.ranks.document import Job
from analyzer.ranks.group_kinds import shares_sequences
from analyzer.ranks.merge import merge
from jobs import other_programs
from jobs.programs import PROGRAMS, Plan, Play
from jobs.traces import Recorder, write_job


def job(folder: Path, words: str) -> Job:
    """Ring attention of two ranks, of which the second has half as much again to do."""
    assert PROGRAMS["ring"] is other_programs.ring
    play = Play(Plan(program="ring", tp=2, steps=4, tokens={1: 1.5}))
    return merge([summary_of(path) for path in write_job(play, folder, Recorder({"tp": words}))])


@pytest.mark.parametrize("words", ["mesh_cp", "CONTEXT_PARALLEL_GROUP"])
def test_a_ring_of_two_has_no_stages(words: str, tmp_path: Path) -> None:
    found = job(tmp_path, words)
    assert found.pipeline is None
    assert [(one.rank, one.cause) for one in found.late] == [(1, "imbalance")]


def test_without_these_words_it_may_be_either(tmp_path: Path) -> None:
    found = job(tmp_path, "some_group")
    assert found.pipeline is not None
    assert not found.pipeline.stated


@pytest.mark.parametrize(
    ("words", "shares"),
    [
        ("mesh_cp", True), ("CONTEXT_PARALLEL_GROUP", True), ("HIERARCHICAL_CONTEXT_PARALLEL_GROUPS", True),
        ("DATA_PARALLEL_GROUP_WITH_CP", False), ("mesh_dp_shard_cp", False), ("default_pg", False), (None, False),
    ],
)  # fmt: skip
def test_groups_of_sequences_are_known_by_their_words(words: str | None, shares: bool) -> None:
    assert shares_sequences(words) is shares
