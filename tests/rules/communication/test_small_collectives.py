"""CO005: forty all-reduces of 4 KB a step, 100 us each, after the backward pass."""

from __future__ import annotations

import pytest

from analyzer.facts import Facts
from analyzer.finding import State
from building.builders import TraceBuilder
from rules.communication.small_collectives import RULE
from running.one_rule import judged, run

ALL_REDUCE = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"


def world(*, calls: int = 40, elements: int | None = 1_000, beside: bool = False) -> TraceBuilder:
    """Three steps of 100 ms: compute for 50 ms, and the collectives after it or beside it."""
    builder = TraceBuilder()
    for number in range(3):
        at = number * 100_000.0
        builder.step(number, at, 100_000)
        builder.launch(at, kernel_start=at + 100, kernel_dur=50_000)
        builder.zero_grad(at + 60_000, 10)
        for index in range(calls):
            launch = at + 100 + 20 * index
            args = {} if elements is None else {"Input Dims": [[elements]], "Input type": ["float"]}
            builder.event("nccl:all_reduce", "user_annotation", launch, 10, args=args)
            start = at + (200 if beside else 50_100) + 100 * index
            builder.launch(launch + 1, kernel_start=start, kernel_dur=100, name=ALL_REDUCE, stream=20, op=None)
    return builder


def test_fires_with_what_one_bucket_would_do_away_with() -> None:
    found = judged(RULE, world())
    # 40 collectives of 100 us; one in forty stays.
    assert found.ns_per_step == pytest.approx(4_000_000 * 39 / 40, rel=1e-3)
    assert found.finding.why.startswith("40 collectives a step, the median of 3.9 KiB")


def test_beside_compute_they_cost_nothing() -> None:
    assert judged(RULE, world(beside=True)).ns_per_step == 0


@pytest.mark.parametrize(("calls", "state"), [(19, State.CLEAR), (20, State.FIRED)])
def test_boundary_of_calls(calls: int, state: State) -> None:
    assert run(RULE, world(calls=calls)).state is state


@pytest.mark.parametrize(("elements", "state"), [(262_143, State.FIRED), (262_144, State.CLEAR)])
def test_boundary_of_size(elements: int, state: State) -> None:
    assert run(RULE, world(elements=elements)).state is state


def test_cannot_tell_without_sizes() -> None:
    result = run(RULE, world(elements=None))
    assert (result.state, "record_shapes" in result.reason) == (State.CANNOT_TELL, True)


def test_not_applicable_in_a_single_process() -> None:
    assert run(RULE, world(calls=0)).state is State.NOT_APPLICABLE


def stated(*, kind: str = "Float", elements: int = 1_000, after: bool = False) -> TraceBuilder:
    """The same without recorded shapes: `record_param_comms` around each call, or before it, says what is sent."""
    builder = world(elements=None)
    for call in [event for event in builder.events if event["name"] == "nccl:all_reduce"]:
        said = {"Collective name": "allreduce", "In msg nelems": elements, "Out msg nelems": elements, "dtype": kind}
        builder.event("record_param_comms", "cpu_op", call["ts"] - 3, 2 if after else 15, args=said)
    return builder


@pytest.mark.parametrize(("kind", "median"), [("Float", "3.9 KiB"), ("BFloat16", "2.0 KiB"), ("Long", "7.8 KiB")])
def test_sizes_are_known_without_recorded_shapes(kind: str, median: str) -> None:
    found = judged(RULE, stated(kind=kind))
    assert found.finding.why.startswith(f"40 collectives a step, the median of {median}")
    assert Facts(stated(kind=kind).trace()).communication.collectives.narrow is (kind == "BFloat16")


@pytest.mark.parametrize("builder", [stated(kind="Opaque"), stated(after=True)], ids=["unknown type", "another call's"])
def test_a_size_that_is_not_stated_for_the_call_is_unknown(builder: TraceBuilder) -> None:
    assert run(RULE, builder).state is State.CANNOT_TELL


def test_a_large_message_is_no_small_collective() -> None:
    assert run(RULE, stated(elements=262_144)).state is State.CLEAR


@pytest.mark.parametrize(
    ("kinds", "fsdp", "word"),
    [
        (("all_reduce",), False, "DistributedDataParallel(model)"),
        (("_allgather_base", "_reduce_scatter_base"), False, "set_z3_leaf_modules"),
        (("_allgather_base", "_reduce_scatter_base"), True, "fully_shard"),
        (("all_to_all",), False, "torch.cat"),
    ],
)
def test_the_fix_suits_what_is_sent(kinds: tuple[str, ...], fsdp: bool, word: str) -> None:
    builder = world()
    kernels = {
        "_allgather_base": "ncclDevKernel_AllGather_RING_LL(p)",
        "_reduce_scatter_base": "ncclDevKernel_ReduceScatter_Sum_f32_RING_LL(p)",
        "all_to_all": "ncclDevKernel_SendRecv(p)",
    }
    turn = 0
    for event in builder.events:
        if event["name"] == "nccl:all_reduce":
            turn += 1
            event["name"] = f"nccl:{kinds[turn % len(kinds)]}"
        elif event["name"] == ALL_REDUCE:
            event["name"] = kernels.get(kinds[turn % len(kinds)], ALL_REDUCE)
    if fsdp:
        builder.annotation("FSDP::pre_forward (layers.0)", 0, 10)
    codes = "\n".join(fix.code for fix in judged(RULE, builder).finding.fix)
    assert word in codes
    assert ("DistributedDataParallel" in codes) is (kinds == ("all_reduce",))


@pytest.mark.parametrize("behind", [True, False])
def test_weights_that_are_averaged_are_no_gradients(behind: bool) -> None:
    builder = TraceBuilder(None)
    for number in range(3):
        at = number * 100_000.0
        builder.step(number, at, 100_000)
        builder.op("aten::linear", at, 5_000)
        builder.op("autograd::engine::evaluate_function: AddmmBackward0", at + 5_000, 5_000)
        builder.optimizer(at + (10_000 if behind else 95_000), 1_000)
        for index in range(40):
            args = {"Input Dims": [[1_000]], "Input type": ["float"]}
            builder.event("gloo:all_reduce", "user_annotation", at + 12_000 + 2_000 * index, 1_500, tid=77, args=args)
    first = judged(RULE, builder).finding.fix[0]
    assert ("every so many steps" in first.code) is behind
    assert ("DistributedDataParallel" in first.code) is not behind
