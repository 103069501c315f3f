"""CO001 and CO005 of DistributedDataParallel: advice fits what is exposed, buckets of gradients or what is sent beside them."""

from __future__ import annotations

from typing import Any

import pytest

from analyzer.facts import Facts
from analyzer.finding import Finding
from building.builders import TraceBuilder
from building.clocked import Clocked
from jobs.gloo_ddp import ddp
from rules.communication.exposed import RULE
from rules.communication.small_collectives import RULE as SMALL
from running.one_rule import judged
from stories.models import GATHER, RANKS, layer, update

LOGGED, BARRIER, NO_SYNC, ONCE = (
    "torch.stack([loss",
    "-torch.distributed.barrier()",
    "no_sync",
    "around the forward pass",
)
ZERO, HOOK, BUCKETS, SEARCH, GATHERED = (
    "parameters_as_bucket_view",
    "bf16_compress",
    "bucket_cap_mb=1)",
    "unused",
    "--local-loss",
)


def codes(finding: Finding) -> list[str]:
    return [f"{fix.code}\n{fix.note}" for fix in finding.fix if "over the same steps" not in fix.code]


def told(**world: Any) -> list[str]:
    return codes(judged(RULE, ddp(**world)).finding)


@pytest.mark.parametrize(
    ("world", "first"),
    [
        ({}, NO_SYNC),
        ({"passes": 4}, ONCE),
        ({"passes": 4, "updates": 2}, ONCE),
        ({"buckets": 30}, BUCKETS),
        ({"buckets": 30, "elements": 1_000}, "the median of 3.9 KiB"),
        ({"search": True}, SEARCH),
        ({"behind": {"all_gather": 3}}, LOGGED),
        ({"behind": {"barrier": 3}}, LOGGED),
        ({"behind": {"all_reduce": 3}}, LOGGED),
        # Gradients that the program sums by itself.
        ({"buckets": 0, "behind": {"all_reduce": 3}}, NO_SYNC),
        ({"before": {"all_gather": 3}}, GATHERED),
        ({"before": {"barrier": 3}}, BARRIER),
        ({"in_update": {"broadcast": 3}, "optimizer": "ZeroRedundancyOptimizer"}, ZERO),
        ({"in_update": {"broadcast": 3}}, "one flat tensor from each rank"),
    ],
)
def test_what_the_trace_shows_comes_first(world: dict[str, Any], first: str) -> None:
    assert first in told(**world)[0]


@pytest.mark.parametrize(
    "world",
    [
        {"passes": 4, "reduced": 1},
        {"passes": 1, "updates": 4},
        # Two models, whose passes reduce unlike numbers of buckets.
        {"passes": 2, "buckets": (1, 3)},
        # One forward pass, through which gradients are taken twice.
        {"passes": 2, "layers_between": False},
    ],
    ids=["reduced in the last", "one pass each", "two models", "one graph"],
)
def test_gradients_that_are_reduced_once_stay_so(world: dict[str, Any]) -> None:
    said = "\n".join(told(**world))
    assert ONCE not in said
    assert NO_SYNC in said


@pytest.mark.parametrize("world", [{"buckets": 19}, {"buckets": 30, "elements": 1 << 20}, {"passes": 10, "buckets": 3}])
def test_few_buckets_or_large_ones_are_not_made_larger(world: dict[str, Any]) -> None:
    assert BUCKETS not in "\n".join(told(**world))


@pytest.mark.parametrize(
    ("world", "asked_at"),
    [
        ({}, 0),
        ({"passes": 4}, 1),
        ({"buckets": 30}, 1),
        ({"search": True}, 1),
        ({"buckets": 1, "elements": 20 << 20}, 1),
    ],
    ids=["plain", "accumulated", "small buckets", "search", "one sum"],
)
def test_what_one_rank_shows_to_be_needless_comes_before_all_ranks(world: dict[str, Any], asked_at: int) -> None:
    fixes = judged(RULE, ddp(**world)).finding.fix
    assert ["over the same steps" in fix.code for fix in fixes].index(True) == asked_at


@pytest.mark.parametrize(
    ("buckets", "elements", "one"), [(1, 20 << 20, True), (3, 20 << 20, False), (1, 6 << 20, False)]
)
def test_one_sum_of_most_gradients_is_told_and_other_buckets_are_not(buckets: int, elements: int, one: bool) -> None:
    said = told(buckets=buckets, elements=elements)
    assert ("One sum of 80 MiB carries most gradients" in said[0]) is one
    assert ("gradient_as_bucket_view" in "\n".join(said)) is not one


@pytest.mark.parametrize("barrier", [True, False])
def test_messages_of_a_monitored_barrier_are_of_no_pipeline(barrier: bool) -> None:
    builder = TraceBuilder(None)
    for step in range(4):
        at = step * 10_000.0
        builder.step(step, at, 10_000)
        builder.op("aten::linear", at, 2_000)
        builder.op("autograd::engine::evaluate_function: AddmmBackward0", at + 2_000, 2_000)
        if barrier:
            builder.event("c10d::monitored_barrier_", "cpu_op", at + 5_000, 4_000)
        for name, begin, dur in (("send", 5_010, 20), ("recv", 5_040, 3_950)):
            args = {"Input Dims": [[1]], "Input type": ["long"]}
            builder.event(f"gloo:{name}", "user_annotation", at + begin, dur, args=args)
    found = Facts(builder.trace()).communication
    assert found.passing.stages is not barrier
    assert (set(found.collectives.calls["kind"]) == {"barrier"}) is barrier


def test_sums_of_a_number_are_no_buckets() -> None:
    assert BUCKETS not in "\n".join(told(elements=1, buckets=2, each=500, behind={"all_reduce": 30}))


def test_what_is_sent_beside_a_little_is_told_behind_the_gradients() -> None:
    said = told(buckets=3, behind={"all_gather": 1})
    assert NO_SYNC in said[0]
    assert LOGGED in "\n".join(said)
    assert LOGGED not in "\n".join(told(buckets=300, behind={"all_gather": 1}))


@pytest.mark.parametrize("world", [{"behind": {"all_gather": 9}}, {"in_update": {"broadcast": 9}}])
def test_no_setting_of_gradients_is_told_where_they_are_not_what_is_exposed(world: dict[str, Any]) -> None:
    said = "\n".join(told(**world))
    assert HOOK not in said
    assert "gradient_as_bucket_view" not in said


def test_without_a_device_16_bits_come_last_and_with_a_word_of_warning() -> None:
    said = told()
    assert HOOK in said[1]
    assert "gloo takes longer" in said[1]


@pytest.mark.parametrize(
    ("world", "first"),
    [
        ({"buckets": 30, "elements": 1_000}, "DistributedDataParallel(model)"),
        ({"elements": 1_000, "behind": {"all_gather": 30}}, LOGGED),
        ({"elements": 1_000, "in_update": {"broadcast": 30}, "optimizer": "ZeroRedundancyOptimizer"}, ZERO),
    ],
)
def test_small_ones_are_joined_where_they_are_sent(world: dict[str, Any], first: str) -> None:
    assert first in codes(judged(SMALL, ddp(**world)).finding)[0]


def metrics(*, behind: bool) -> Clocked:
    """DDP on a device that gathers something large in each step, behind the backward pass or in front of it."""
    world = Clocked(top=RANKS)

    def gather() -> None:
        world.busy_until[7] = world.collective("_allgather_base", 4_000, kernel=GATHER, after=world.busy_until[7])

    for _ in world.steps(4):
        with world.inside("DistributedDataParallel.forward"):
            for _ in range(4):
                layer(world)
        if not behind:
            gather()
        with world.backward():
            for _ in range(4):
                with world.node("MmBackward0"):
                    layer(world, 2, backward=True)
        if behind:
            gather()
        update(world)
    return world


@pytest.mark.parametrize("behind", [True, False])
def test_on_a_device_too_it_counts_where_it_is_called(behind: bool) -> None:
    found = Facts(metrics(behind=behind).trace()).communication.own_calls
    assert (found.behind.total_ns > 0, found.before.total_ns > 0) == (behind, not behind)
    assert (LOGGED if behind else GATHERED) in codes(judged(RULE, metrics(behind=behind)).finding)[0]


def sharded(
    *, blocks: int = 8, layers: tuple[str, ...] = (".a", ".b", ".n"), elements: int | None = None
) -> TraceBuilder:
    """FSDP2 over gloo without a device: each unit is gathered in front of its layer, and reduced behind the backward pass."""
    builder = TraceBuilder(None, top={"distributedInfo": {"backend": "gloo", "rank": 0, "world_size": 2}})
    shapes = {} if elements is None else {"Input Dims": [[elements]], "Input type": ["float"]}
    units = [f"layers.{block}{layer}" for block in range(blocks) for layer in layers]
    for number in range(3):
        at = start = number * 100_000.0
        for unit in units:
            builder.annotation(f"FSDP::all_gather ({unit})", at, 50)
            builder.event("gloo:all_gather", "user_annotation", at + 40, 900, tid=77, args=shapes)
            builder.op("aten::linear", at + 1_000, 100)
            at += 1_200
        for _ in units:
            builder.op("autograd::engine::evaluate_function: AddmmBackward0", at, 100)
            builder.event("gloo:all_reduce", "user_annotation", at + 110, 400, tid=77, args=shapes)
            at += 600
        builder.optimizer(at, 500)
        builder.step(number, start, at + 600 - start)
    return builder


UNITS = "whole blocks, not their linear layers"


@pytest.mark.parametrize(
    ("world", "first"),
    [
        ({}, True),
        ({"elements": 1_000}, True),
        ({"elements": 1 << 20}, False),
        # Attention and MLP by themselves are large where blocks are.
        ({"layers": (".attention", ".mlp")}, False),
        ({"blocks": 24, "layers": ("",)}, False),
        ({"blocks": 24, "layers": ("",), "elements": 1_000}, True),
        ({"blocks": 2}, False),
    ],
    ids=["unknown", "small", "large", "halves", "blocks", "small blocks", "few"],
)
def test_layers_of_blocks_that_are_units_are_joined_first(world: dict[str, Any], first: bool) -> None:
    assert (UNITS in codes(judged(RULE, sharded(**world)).finding)[0]) is first


def test_units_are_named_where_no_shape_says_how_large_they_are() -> None:
    said = codes(judged(RULE, sharded()).finding)
    assert "24 modules are gathered one by one, 3 to a block (`layers.0.a`, `layers.0.b`, `layers.0.n`)" in said[0]
    assert "may cost a CPU more" in said[1]


def test_on_a_host_gathers_are_started_early_not_prefetched() -> None:
    said = "\n".join(codes(judged(RULE, sharded()).finding))
    assert "following.unshard(async_op=True)" in said
    assert "forward_prefetch" not in said


def talking(*, backward: bool, update: bool) -> TraceBuilder:
    """Steps of 20 ms that end in messages to another rank and back."""
    builder = TraceBuilder(None, top={"distributedInfo": {"backend": "gloo", "rank": 0, "world_size": 3}})
    for number in range(3):
        at = number * 20_000.0
        builder.step(number, at, 20_000)
        builder.op("aten::linear" if backward else "aten::add_", at, 3_000)
        if backward:
            builder.op("autograd::engine::evaluate_function: AddmmBackward0", at + 3_000, 3_000)
        if update:
            builder.optimizer(at + 6_000, 1_000)
        for place, kind in enumerate(("send", "recv") * 3):
            builder.annotation(f"gloo:{kind}", at + 7_000 + place * 2_000, 1_900)
    return builder


SUMMED, PIPELINE = "torch.distributed.all_reduce(flat)", "Schedule1F1B"


@pytest.mark.parametrize(
    ("backward", "update", "summed", "stages"),
    [(True, True, False, True), (True, False, True, True), (False, True, True, False)],
    ids=["stage", "worker or stage", "server"],
)
def test_a_rank_that_serves_others_is_no_stage(backward: bool, update: bool, summed: bool, stages: bool) -> None:
    said = codes(judged(RULE, talking(backward=backward, update=update)).finding)
    assert (SUMMED in said[0]) is summed
    assert (PIPELINE in "\n".join(said)) is stages


@pytest.mark.parametrize(
    ("dims", "types", "known"),
    [
        ([[]], ["float"], 4.0),
        ([[]], ["long int"], 8.0),
        ([[]], [""], None),
        ([[], [3]], ["", "float"], 12.0),
        ([], [], None),
    ],
)
def test_a_tensor_without_dimensions_is_one_number(
    dims: list[list[int]], types: list[str], known: float | None
) -> None:
    builder = ddp(behind={"all_reduce": 3})
    for event in builder.events:
        if event["name"].startswith("gloo:"):
            event["args"] = {"Input Dims": dims, "Input type": types}
    found = Facts(builder.trace()).communication.collectives
    assert found.sizes_of("all_reduce")[1] == known


@pytest.mark.parametrize(("calls", "joined"), [(30, True), (5, False)])
def test_many_of_unknown_size_are_joined_where_no_library_sends_them(calls: int, joined: bool) -> None:
    builder = ddp(buckets=0, behind={"all_reduce": calls}, each=500)
    builder.events = [event for event in builder.events if "Distributed" not in event["name"]]
    assert ("torch.cat" in codes(judged(RULE, builder).finding)[0]) is joined


@pytest.mark.parametrize("joining", [0, 2])
def test_what_join_asks_is_no_number_that_is_logged(joining: int) -> None:
    said = "\n".join(told(joining=joining, behind=None if joining else {"all_reduce": 2}, each=3_000))
    assert ("-with Join([model]):" in said, LOGGED in said) == (bool(joining), not joining)
