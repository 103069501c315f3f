"""CO001 where kernels state their process groups: how much of the exposed time is in which, and which of them advice is for."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from building.builders import AUTOGRAD, TraceBuilder
from rules.communication.exposed import RULE
from running.one_rule import judged

KERNELS = {
    "all_gather": "ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
    "reduce_scatter": "ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
    "send": "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)",
    "all_reduce": "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
}
OF_LAYERS = "Split layers over fewer ranks"
OF_SEQUENCES = "Share each sequence among fewer ranks"
# What a collective is, what it takes, and the name and purpose of its group; neither is stated where that is None.
Call = tuple[str, float, str | None, str | None]


def world(calls: Sequence[Call], *, backward: bool = False) -> TraceBuilder:
    """Three steps of ten layers with these collectives behind each, and an update; ranges tell no backward pass, or a short one."""
    builder = TraceBuilder(top={"distributedInfo": {"backend": "nccl", "rank": 0, "world_size": 4}})
    at = 0.0
    for step in range(3):
        begun = at
        for _ in range(10):
            builder.op("aten::linear", at, 100)
            builder.launch(at + 10, kernel_start=at + 20, kernel_dur=1_000, op=None)
            at += 1_020
            for kind, dur, group, purpose in calls:
                args = {"Input Dims": [[100_000]], "Input type": ["c10::BFloat16"]}
                builder.event(f"nccl:{kind}", "user_annotation", at - 500, 40, args=args)
                builder.launch(at - 490, kernel_start=at, kernel_dur=dur, name=KERNELS[kind], stream=20, op=None)
                if group is not None:
                    stated = {"Collective name": kind, "Process Group Name": group, "Group size": 2}
                    builder.events[-1]["args"] |= stated | (
                        {"Process Group Description": purpose} if purpose is not None else {}
                    )
                at += dur
        if backward:
            builder.op("autograd::engine::evaluate_function: AddmmBackward0", at, 600, thread=AUTOGRAD)
            builder.launch(at + 10, kernel_start=at + 20, kernel_dur=570, op="aten::mm", thread=AUTOGRAD)
            at += 610
        builder.optimizer(at, 300)
        at += 310
        builder.step(step, begun, at - begun)
    return builder


def told(calls: Sequence[Call], *, backward: bool = False) -> tuple[str, str]:
    found = judged(RULE, world(calls, backward=backward)).finding
    return found.why, " ".join(advice.code for advice in found.fix)


def of(purpose: str | None) -> list[Call]:
    """Parameters of a layer that are gathered, and something that is scattered behind it."""
    return [("all_gather", 400.0, "3", purpose), ("reduce_scatter", 400.0, "3", purpose)]


@pytest.mark.parametrize("purpose", ["mesh_dp_shard", "DATA_PARALLEL_GROUP_WITH_CP", "mesh_fsdp"])
def test_shards_of_parameters_are_no_parts_of_a_layer(purpose: str) -> None:
    _, fix = told(of(purpose))
    assert OF_LAYERS not in fix
    assert "overlap_comm" in fix


@pytest.mark.parametrize("purpose", ["mesh_tp", "TENSOR_MODEL_PARALLEL_GROUP", "default_pg", None])
def test_what_may_be_activations_is_told_as_that(purpose: str | None) -> None:
    assert OF_LAYERS in told(of(purpose))[1]


@pytest.mark.parametrize(("data_us", "of_layers"), [(900.0, False), (100.0, True)])
def test_advice_is_for_the_groups_with_most_of_the_time(data_us: float, of_layers: bool) -> None:
    of_data: list[Call] = [("reduce_scatter", data_us, "3", "mesh_dp"), ("all_gather", data_us, "3", "mesh_dp")]
    _, fix = told([("all_reduce", 400.0, "1", "mesh_tp"), *of_data])
    assert (OF_LAYERS in fix) is of_layers


def test_the_time_is_told_by_group_and_what_states_none_as_that() -> None:
    why, _ = told(
        [
            ("all_reduce", 400.0, "1", "mesh_tp"),
            ("reduce_scatter", 200.0, "3", None),
            ("all_gather", 100.0, None, None),
        ]
    )
    assert (
        "By process group: 4.0 ms in `mesh_tp` (2 ranks), 2.0 ms in `3` (2 ranks), 1.0 ms in none that is stated."
        in why
    )


def test_one_group_is_not_told_apart() -> None:
    assert "process group" not in told(of("mesh_tp"))[0]


@pytest.mark.parametrize(
    ("purpose", "ring", "stages"),
    [
        ("CONTEXT_PARALLEL_GROUP", True, False),
        ("mesh_cp", True, False),
        ("PIPELINE_MODEL_PARALLEL_GROUP", False, True),
        # Whose words say nothing may be either.
        ("default_pg", True, True),
        (None, True, True),
    ],
)
def test_messages_of_a_ring_are_no_stages(purpose: str | None, ring: bool, stages: bool) -> None:
    _, fix = told([("send", 600.0, "5", purpose), ("all_reduce", 100.0, "3", "mesh_dp")], backward=True)
    assert (OF_SEQUENCES in fix, "Schedule1F1B" in fix) == (ring, stages)


@pytest.mark.parametrize(
    ("targets", "sources", "size", "ring", "stages"),
    [
        # Gradients come back to whom activations came from; around a ring all goes one way; of two nobody knows.
        ((1, 3), (1, 3), 4, False, True),
        ((1,), (1,), 4, False, True),
        ((3,), (1,), 4, True, False),
        ((1,), (1,), 2, True, True),
        ((1,), (), 4, True, True),
    ],
)
def test_where_words_say_nothing_directions_do(
    targets: tuple[int, ...], sources: tuple[int, ...], size: int, ring: bool, stages: bool
) -> None:
    messages = [*(("Dst Rank", one) for one in targets), *(("Src Rank", one) for one in sources)]
    built = world([("send", 600.0, "5", None)], backward=True)
    sent = [event["args"] for event in built.events if "Collective name" in event.get("args", {})]
    for place, args in enumerate(sent):
        key, peer = messages[place % len(messages)]
        args |= {"Collective name": "send" if key == "Dst Rank" else "recv", key: peer, "Group size": size}
    fix = " ".join(advice.code for advice in judged(RULE, built).finding.fix)
    assert (OF_SEQUENCES in fix, "Schedule1F1B" in fix) == (ring, stages)


@pytest.mark.parametrize(("kind", "instead"), [("all_gather", "--cp-comm-type p2p"), ("send", "--cp-comm-type a2a")])
def test_what_ranks_that_share_sequences_send_is_no_parameter(kind: str, instead: str) -> None:
    _, fix = told([(kind, 600.0, "5", "CONTEXT_PARALLEL_GROUP"), ("all_reduce", 100.0, "3", "mesh_dp")], backward=True)
    assert OF_SEQUENCES in fix
    assert instead in fix


def test_sums_over_ranks_that_share_sequences_are_of_gradients() -> None:
    _, fix = told([("all_reduce", 600.0, "5", "mesh_cp")], backward=True)
    assert OF_SEQUENCES not in fix
