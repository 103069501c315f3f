"""CO002: a collective of 40 ms runs 10 ms beside compute and 30 ms alone."""

from __future__ import annotations

import pytest

from analyzer.finding import State
from building.builders import TraceBuilder
from rules.communication.poor_overlap import RULE
from running.one_rule import judged, run

ALL_REDUCE = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"


def world(
    *, alone: float = 30_000, beside: float = 10_000, compute: float = 60_000, stream: int = 20, ddp: bool = False
) -> TraceBuilder:
    """Three steps of 100 ms: compute, and a collective that begins before its end."""
    builder = TraceBuilder()
    for number in range(3):
        at = number * 100_000.0
        builder.step(number, at, 100_000).zero_grad(at + 10, 20)
        if ddp:
            builder.annotation("DistributedDataParallel.forward", at, 40)
        builder.launch(at + 50, kernel_start=at + 100, kernel_dur=compute)
        start = at + 100 + compute - beside
        builder.annotation("nccl:all_reduce", at + 101, 20)
        builder.launch(at + 105, kernel_start=start, kernel_dur=beside + alone, name=ALL_REDUCE, stream=stream, op=None)
    return builder


def test_fires_with_what_compute_could_hide() -> None:
    found = judged(RULE, world())
    # 30 ms alone, and 50 ms of compute beside which nothing is sent.
    assert found.ns_per_step == 30_000_000
    assert found.finding.why == (
        "Only 25 % of the collectives' time runs beside compute, because all of it is one collective a step; "
        "alone they take 30 % of the step."
    )


def test_compute_that_is_too_short_bounds_the_saving() -> None:
    assert judged(RULE, world(compute=25_000)).ns_per_step == 15_000_000


def test_a_shared_stream_is_named() -> None:
    assert "share the stream" in judged(RULE, world(stream=7, beside=0)).finding.why


def test_a_collective_that_began_before_the_steps_has_no_known_reason() -> None:
    builder = world(alone=0, beside=0)
    builder.events = [event for event in builder.events if event["name"] != ALL_REDUCE]
    builder.launch(-900, kernel_start=-500, kernel_dur=290_000, name=ALL_REDUCE, stream=20, op=None)
    assert "because" not in judged(RULE, builder).finding.why


def test_wrapping_comes_first_where_nothing_is_wrapped() -> None:
    assert "DistributedDataParallel(model, device_ids" in judged(RULE, world()).finding.fix[0].code
    assert "bucket_cap_mb" in judged(RULE, world(ddp=True)).finding.fix[0].code


@pytest.mark.parametrize(("beside", "state"), [(22_900, State.FIRED), (24_000, State.CLEAR)])
def test_boundary_of_hidden(beside: float, state: State) -> None:
    # 10 ms alone: 22.9 of 32.9 and 24 of 34 ms are hidden.
    assert run(RULE, world(alone=10_000, beside=beside)).state is state


@pytest.mark.parametrize(("alone", "state"), [(4_900, State.CLEAR), (5_100, State.FIRED)])
def test_boundary_of_exposed(alone: float, state: State) -> None:
    assert run(RULE, world(alone=alone, beside=0)).state is state


def test_not_applicable_in_a_single_process() -> None:
    builder = TraceBuilder().step(0, 0, 100)
    builder.launch(0, kernel_start=10, kernel_dur=80)
    assert run(RULE, builder).state is State.NOT_APPLICABLE


@pytest.mark.parametrize(("kernel", "wraps"), [(ALL_REDUCE, True), ("ncclDevKernel_AllGather_RING_LL(p)", False)])
def test_only_sums_are_sent_to_a_wrapper_that_sums_gradients(kernel: str, wraps: bool) -> None:
    builder = world()
    for event in builder.events:
        event["name"] = event["name"].replace(ALL_REDUCE, kernel)
        if "AllGather" in kernel:
            event["name"] = event["name"].replace("nccl:all_reduce", "nccl:all_gather")
    fixes = judged(RULE, builder).finding.fix
    assert any("DistributedDataParallel" in fix.code for fix in fixes) is wraps


GATHER = "ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
SCATTER = "ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)"


def sharded(
    *, early: float = 2_000, apart: float = 5, first: str = SCATTER, fsdp: bool = True, norm: bool = False
) -> TraceBuilder:
    """Three steps of 10 ms: compute, then a gather so many us behind a reduce-scatter, launched so many before that ends."""
    builder = TraceBuilder()
    for number in range(3):
        at = number * 10_000.0
        builder.step(number, at, 10_000)
        builder.launch(at + 10, kernel_start=at + 20, kernel_dur=2_000)
        if fsdp:
            builder.annotation("FSDP::post_backward_reduce (layers.0)", at + 40, 30)
        for kind, when, start, name in (
            ("_reduce_scatter_base", at + 50, at + 2_050, first),
            ("_allgather_base", at + 5_000 - early, at + 5_000 + apart, GATHER),
        ):  # fmt: skip
            builder.annotation(f"nccl:{kind}", when, 12)
            end = at + 5_000 if name is first else start + 1_000
            builder.launch(when + 1, kernel_start=start, kernel_dur=end - start, name=name, stream=20, op=None)
        if norm:
            builder.launch(at + 2_900, kernel_start=at + 5_002, kernel_dur=2)
        builder.launch(at + 5_100, kernel_start=at + 6_100, kernel_dur=3_000)
    return builder


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({}, True),
        ({"early": 40}, False),
        ({"apart": 200}, False),
        ({"first": ALL_REDUCE}, False),
        ({"fsdp": False}, True),
        ({"norm": True}, False),
    ],
    ids=["waited", "launched just before", "not at once", "behind another kind", "of a library", "behind a kernel"],
)
def test_gathers_that_wait_for_a_reduce_scatter_are_told(settings: dict[str, float], *, told: bool) -> None:
    finding = judged(RULE, sharded(**settings)).finding  # type: ignore[arg-type]
    assert ("gathered behind reduce-scatters" in finding.why) is told
    apart = "set_separate_reduce_scatter_group" if settings.get("fsdp", True) else "--create-all-gather-group"
    assert any(apart in fix.code for fix in finding.fix) is told


@pytest.mark.parametrize("module", [True, False])
def test_the_module_of_fsdp1_has_one_communicator_and_is_told_of_fsdp2(module: bool) -> None:
    builder = sharded(fsdp=not module)
    for number in range(3 if module else 0):
        builder.annotation("FullyShardedDataParallel._pre_backward_hook", number * 10_000 + 40, 5)
    code = next(
        fix.code for fix in judged(RULE, builder).finding.fix if "set_separate_reduce_scatter_group" in fix.code
    )
    assert ("fully_shard(block)" in code) is module
