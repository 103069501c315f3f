"""CO001 where FSDP shards and a host computes: it is told what FSDP1 or `fully_shard` has, and of that what applies."""

from __future__ import annotations

import pytest

from building.builders import TraceBuilder
from rules.communication.exposed import RULE
from rules.communication.small_collectives import RULE as SMALL
from running.one_rule import judged

FSDP1 = (
    "FullyShardedDataParallel._pre_forward",
    "FullyShardedDataParallel._pre_backward_hook",
    "FullyShardedDataParallel._post_backward_hook",
)
FSDP2 = ("FSDP::pre_forward (0)", "FSDP::pre_backward (0)", "FSDP::post_backward_reduce (0)")
KEPT, KEPT2 = "ShardingStrategy.SHARD_GRAD_OP", "reshard_after_forward=False"


def host(
    ranges: tuple[str, str, str], *, again: bool = True, elements: int = 1 << 20, passes: int = 1, synced: int = 1
) -> TraceBuilder:
    """Eight units over gloo without a device.

    Args:
        ranges: What FSDP calls its passes.
        again: Whether each is gathered for the backward pass, too, beside no compute.
        elements: Floats of each unit.
        passes: Forward and backward passes before an update.
        synced: In how many of them gradients are scattered, the last ones.
    """
    builder = TraceBuilder(None, top={"distributedInfo": {"backend": "gloo", "rank": 0, "world_size": 2}})
    sent = {"Input Dims": [[elements]], "Input type": ["float"]}
    forward, backward, summed = ranges
    at = 0.0
    for number in range(3):
        start = at
        for turn in range(passes):
            for _ in range(8):
                builder.annotation(forward, at, 1_000)
                builder.event("gloo:all_gather", "user_annotation", at + 40, 900, tid=77, args=sent)
                builder.op("aten::linear", at + 1_000, 500)
                at += 1_600
            for _ in range(8):
                builder.annotation(backward, at, 1_000)
                if again:
                    builder.event("gloo:all_gather", "user_annotation", at + 40, 900, tid=77, args=sent)
                builder.op("autograd::engine::evaluate_function: AddmmBackward0", at + 1_000, 500)
                if turn >= passes - synced:
                    builder.annotation(summed, at + 1_600, 1_000)
                    builder.op("c10d::_reduce_scatter_base_", at + 1_610, 20)
                    builder.event("gloo:all_reduce", "user_annotation", at + 1_640, 900, tid=77, args=sent)
                at += 2_700
        builder.optimizer(at, 500)
        at += 600
        builder.step(number, start, at - start)
    return builder


def said(builder: TraceBuilder) -> str:
    return "\n".join(f"{fix.code}\n{fix.note}" for fix in judged(RULE, builder).finding.fix)


@pytest.mark.parametrize(("ranges", "kept", "never"), [(FSDP1, KEPT, KEPT2), (FSDP2, KEPT2, KEPT)])
def test_parameters_that_are_gathered_again_may_be_kept(ranges: tuple[str, str, str], kept: str, never: str) -> None:
    assert kept in said(host(ranges))
    assert never not in said(host(ranges))
    assert kept not in said(host(ranges, again=False))


def test_fsdp1_is_told_nothing_that_fsdp2_alone_has() -> None:
    text = said(host(FSDP1))
    assert "unshard(" not in text
    assert "fully_shard(" not in text
    assert "mixed_precision=policy" in text
    assert "-model = FullyShardedDataParallel(model)\n+model = DistributedDataParallel(model)" in text


def test_fsdp2_gathers_early_or_not_at_all() -> None:
    text = said(host(FSDP2))
    assert "following.unshard(async_op=True)" in text
    assert "-fully_shard(model)\n+model = DistributedDataParallel(model)" in text


@pytest.mark.parametrize(("ranges", "words"), [(FSDP1, "auto_wrap_policy=policy"), (FSDP2, "fully_shard(block)")])
def test_small_units_are_joined_in_the_words_of_each(ranges: tuple[str, str, str], words: str) -> None:
    assert words in judged(SMALL, host(ranges, elements=1_000)).finding.fix[0].code


@pytest.mark.parametrize(
    ("world", "once"),
    [({"passes": 3, "synced": 3}, True), ({"passes": 3, "synced": 1}, False), ({"passes": 1, "synced": 1}, False)],
    ids=["each pass", "the last pass", "one pass"],
)
def test_gradients_that_fsdp1_scatters_in_each_pass_are_scattered_once(world: dict[str, int], once: bool) -> None:
    text = said(host(FSDP1, **world))
    assert ("model.no_sync()" in text) is once
    assert ("scattered 3 times for one update" in text) is once
