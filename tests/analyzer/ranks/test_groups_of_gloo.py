"""Jobs of several process groups over gloo, which says of no collective its group: told by threads, places and clocks, or not."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from analyzer.job.one import summary_of
from analyzer.ranks.document import Job
from analyzer.ranks.merge import merge
from building.builders import TraceBuilder
from jobs.gloo_mesh import mesh
from jobs.gloo_stages import gpipe

PIPELINES = (
    {"pg_name": "0", "pg_desc": "default_pg", "pg_size": 4, "ranks": [0, 1, 2, 3]},
    {"pg_name": "1", "pg_desc": "mesh_pp", "pg_size": 2, "ranks": [0, 2]},
    {"pg_name": "2", "pg_desc": "mesh_pp", "pg_size": 2, "ranks": [1, 3]},
    {"pg_name": "3", "pg_desc": "mesh_dp", "pg_size": 2, "ranks": [0, 1]},
    {"pg_name": "4", "pg_desc": "mesh_dp", "pg_size": 2, "ranks": [2, 3]},
)


def job(folder: Path, ranks: Sequence[TraceBuilder]) -> Job:
    return merge([summary_of(one.write(folder / f"rank{place}.json")) for place, one in enumerate(ranks)])


def collectives(found: Job) -> dict[str, int]:
    return {f"{one.description} {one.ranks}": one.collectives for one in found.groups}


def test_threads_of_gloo_are_told_by_who_leaves_with_whom(tmp_path: Path) -> None:
    found = job(tmp_path, mesh(late={2: 15.0}))
    assert collectives(found) == {
        "mesh_dp_shard (0, 1)": 108,
        "mesh_dp_shard (2, 3)": 108,
        "mesh_dp_replicate (0, 2)": 36,
        "mesh_dp_replicate (1, 3)": 36,
    }
    assert found.matched.contradicting == 0
    (late,) = found.late
    assert (late.rank, late.cause) == (2, "host")
    assert late.waited_ns_per_step == pytest.approx(15e6, rel=0.25)


def test_a_group_of_all_ranks_is_no_smaller_one(tmp_path: Path) -> None:
    found = job(tmp_path, mesh(late={2: 15.0}, whole=True))
    assert collectives(found) == {
        "mesh_dp_shard (0, 1)": 108,
        "mesh_dp_shard (2, 3)": 108,
        "default_pg (0, 1, 2, 3)": 72,
    }
    assert [(one.rank, one.cause) for one in found.late] == [(2, "host")]


def test_of_a_healthy_job_of_several_groups_nobody_is_late(tmp_path: Path) -> None:
    found = job(tmp_path, mesh())
    assert found.matched.matched == 288
    assert found.late == ()


@pytest.mark.parametrize(
    "how",
    [{"hosts": ("one", "one", "two", "two")}, {"descending": True}, {"threads": 4}],
    ids=["several clocks", "numbers that began anew", "more threads than gloo starts"],
)
def test_where_no_way_is_left_nothing_is_told(tmp_path: Path, how: dict[str, Any]) -> None:
    found = job(tmp_path, mesh(late={2: 15.0}, **how))
    assert (found.matched.matched, found.late) == (0, ())
    assert [one.description for one in found.groups] == [None]
    assert "which process group" in found.verdict.text


def test_where_all_come_and_leave_at_once_no_group_is_named(tmp_path: Path) -> None:
    found = job(tmp_path, mesh(even=True))
    assert ([one.description for one in found.groups], found.late) == ([None], ())


def test_a_rank_that_is_not_here_leaves_groups_that_may_be_others(tmp_path: Path) -> None:
    found = job(tmp_path, mesh(late={2: 15.0})[:1])
    assert found.matched.matched == 0


def pipelines(*second: float, shapes: bool = True, groups: Sequence[dict[str, Any]] = PIPELINES) -> list[TraceBuilder]:
    """Two replicas of a pipeline of two stages; the ranks of a stage are neighbours."""
    info = {"pg_count": len(groups), "pg_config": groups}
    one = gpipe((10.0, 10.0), 4, shapes=shapes, info={**info, "world_size": 4}, numbers=(0, 2))
    other = gpipe(second or (10.0, 10.0), 4, shapes=shapes, info={**info, "world_size": 4}, numbers=(1, 3))
    return [one[0], other[0], one[1], other[1]]


def test_places_of_messages_are_told_by_who_asks_for_them(tmp_path: Path) -> None:
    found = job(tmp_path, pipelines())
    assert {one.ranks: one.kind for one in found.groups} == {(0, 2): "pp", (1, 3): "pp"}
    assert found.matched.contradicting == 0
    assert found.pipeline is not None
    assert [one.ranks for one in found.pipeline.stages] == [(0, 1), (2, 3)]
    assert found.pipeline.stated


def called(**words: str) -> list[dict[str, Any]]:
    """The groups of two pipelines, some of them by other words."""
    return [one | {"pg_desc": words.get(one["pg_desc"], one["pg_desc"])} for one in PIPELINES]


def test_without_places_messages_are_those_of_the_group_of_two_that_is_called_a_pipeline(tmp_path: Path) -> None:
    found = job(tmp_path, pipelines(shapes=False))
    assert {one.ranks: one.kind for one in found.groups} == {(0, 2): "pp", (1, 3): "pp"}
    assert found.pipeline is not None
    assert [one.ranks for one in found.pipeline.stages] == [(0, 1), (2, 3)]


@pytest.mark.parametrize("words", [{"mesh_pp": "mesh_a"}, {"mesh_dp": "mesh_cp"}], ids=["no pipeline", "sequences too"])
def test_without_places_messages_are_not_told_where_no_word_tells_their_group(
    tmp_path: Path, words: dict[str, str]
) -> None:
    found = job(tmp_path, pipelines(shapes=False, groups=called(**words)))
    assert (found.matched.matched, found.pipeline) == (0, None)


@pytest.mark.parametrize(("word", "stated"), [("mesh_pp", True), ("mesh_a", False)])
def test_of_groups_that_agree_a_pipeline_s_goes_before_that_of_all_ranks(
    tmp_path: Path, word: str, stated: bool
) -> None:
    # Of the ranks 0 to 2 a place in their own group is the same one in that of all.
    groups = [
        {"pg_name": "0", "pg_desc": "default_pg", "pg_size": 6, "ranks": list(range(6))},
        {"pg_name": "1", "pg_desc": word, "pg_size": 3, "ranks": [0, 1, 2]},
        {"pg_name": "2", "pg_desc": word, "pg_size": 3, "ranks": [3, 4, 5]},
    ]
    info = {"pg_count": 3, "pg_config": groups, "world_size": 6}
    ranks = [
        one
        for numbers in ((0, 1, 2), (3, 4, 5))
        for one in gpipe((10.0, 10.0, 10.0), 4, shapes=True, info=info, numbers=numbers)
    ]
    found = job(tmp_path, ranks)
    assert found.matched.contradicting == 0
    assert found.pipeline is not None
    assert found.pipeline.stated is stated


def test_messages_that_nobody_asks_for_are_not_told(tmp_path: Path) -> None:
    ranks = pipelines()
    # The last stage of one replica asks for nothing.
    ranks[3].events = [one for one in ranks[3].events if "recv" not in one["name"]]
    found = job(tmp_path, ranks)
    assert found.pipeline is None


def with_groups_of_one() -> list[TraceBuilder]:
    """Two ranks of a mesh of two by one, whose threads leave a sum as far apart as half of it."""
    made = []
    for rank in (0, 1):
        groups = [{"pg_name": "0", "pg_desc": "default_pg", "pg_size": 2, "ranks": [0, 1]}]
        groups.append({"pg_name": str(1 + rank), "pg_desc": "mesh_tp", "pg_size": 1, "ranks": [rank]})
        info = {"backend": "gloo", "rank": rank, "world_size": 2, "pg_count": len(groups), "pg_config": groups}
        builder = TraceBuilder(None, top={"distributedInfo": info, "host_name": "one"})
        for step in range(5):
            at = 20_000.0 * step
            builder.op("aten::mm", at, 5_000 + 6_000 * rank)
            come, left = at + 5_010 + 6_000 * rank, at + 12_000 + (3_000 if (rank + step) % 2 else 0)
            builder.event("gloo:all_reduce", "user_annotation", come, left - come, tid=500)
            builder.step(step, at, 20_000)
        made.append(builder)
    return made


def test_a_group_of_one_rank_is_none_that_others_are_waited_for_in(tmp_path: Path) -> None:
    assert job(tmp_path, with_groups_of_one()).matched.matched == 10
