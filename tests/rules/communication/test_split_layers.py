"""CO001, CO002 and CO005 where activations are exchanged: tensor parallelism and pipelines get other advice than gradients."""

from __future__ import annotations

import pytest

from analyzer.facts import Facts
from analyzer.finding import State
from analyzer.rule import Rule
from building.builders import AUTOGRAD, TraceBuilder
from rules.communication.exposed import RULE as EXPOSED
from rules.communication.poor_overlap import RULE as OVERLAP
from rules.communication.small_collectives import RULE as SMALL
from running.one_rule import judged, run

KERNEL = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
STEP = 100_000.0
LAYERS = 20
OF_GRADIENTS = ("DistributedDataParallel", "no_sync", "bucket", "compress_hook", "fully_shard")


def world(
    *, name: str = "nccl:all_reduce", between: bool = True, backward: bool = True, after_step: bool = False
) -> TraceBuilder:
    """Steps of 100 ms: 20 layers of 1 ms, a collective of 1 ms behind each, and the same in the backward pass.

    Args:
        name: The collectives' range.
        between: Whether the forward pass has collectives between its layers.
        backward: Whether there is a backward pass.
        after_step: Whether as many collectives follow the optimizer, as metrics do.
    """
    builder = TraceBuilder(top={"distributedInfo": {"backend": "nccl", "rank": 0, "world_size": 4}})
    for number in range(3):
        at = number * STEP
        builder.step(number, at, STEP)
        for layer in range(LAYERS):
            when = at + 2_000.0 * layer
            builder.op("aten::linear", when, 100)
            builder.launch(when + 10, kernel_start=when + 20, kernel_dur=1_000, op=None)
            if between:
                _collective(builder, when + 200, when + 1_020, name)
        for layer in range(LAYERS if backward else 0):
            when = at + 2_000.0 * (LAYERS + layer)
            builder.op("autograd::engine::evaluate_function: AddmmBackward0", when, 600, thread=AUTOGRAD)
            builder.launch(when + 10, kernel_start=when + 20, kernel_dur=1_000, op="aten::mm", thread=AUTOGRAD)
            _collective(builder, when + 200, when + 1_020, name, AUTOGRAD)
        builder.optimizer(at + 85_000, 1_000)
        for metric in range(LAYERS if after_step else 0):
            _collective(builder, at + 87_000 + 500 * metric, at + 87_100 + 500 * metric, name, dur=400)
    return builder


def _collective(
    builder: TraceBuilder, at: float, start: float, name: str, thread: int = 4242, dur: float = 980
) -> None:
    args = {"Input Dims": [[100_000]], "Input type": ["c10::BFloat16"]}
    builder.event(name, "user_annotation", at, 40, tid=thread, args=args)
    builder.launch(at + 10, kernel_start=start, kernel_dur=dur, name=KERNEL, stream=20, op=None, thread=thread)


def fixes(rule: Rule, builder: TraceBuilder) -> str:
    return " ".join(advice.code + advice.note for advice in judged(rule, builder).finding.fix)


@pytest.mark.parametrize("backward", [True, False])
def test_collectives_between_layers_are_not_told_to_wait_for_one_another(backward: bool) -> None:
    builder = world(backward=backward)
    found = judged(EXPOSED, builder).finding
    code = " ".join(advice.code for advice in found.fix)
    assert "fewer ranks" in code
    assert not any(word in code for word in OF_GRADIENTS)
    assert "DistributedDataParallel(" not in fixes(OVERLAP, builder)
    result = run(SMALL, builder)
    assert result.state is State.NOT_APPLICABLE
    assert "needs the one before" in result.reason


@pytest.mark.parametrize("after_step", [False, True])
def test_collectives_of_gradients_and_metrics_are_not_between_layers(after_step: bool) -> None:
    builder = world(between=False, after_step=after_step)
    assert not Facts(builder.trace()).communication.collectives.activations
    assert run(SMALL, builder).state is State.FIRED
    assert "DistributedDataParallel(" in fixes(OVERLAP, builder)


def test_sharded_parameters_are_gathered_between_layers_and_are_no_activations() -> None:
    assert not Facts(world(name="nccl:_all_gather_base").trace()).communication.collectives.activations


@pytest.mark.parametrize(
    ("name", "between", "asked_at"),
    [
        ("nccl:recv 1<-0", True, -1),
        ("nccl:all_reduce", True, -1),
        ("nccl:all_reduce", False, 0),
    ],
)
def test_what_pays_however_even_ranks_are_comes_before_all_ranks(name: str, between: bool, asked_at: int) -> None:
    fixes = judged(EXPOSED, world(name=name, between=between)).finding.fix
    assert [fix.code.startswith("Record all 4 ranks") for fix in fixes].index(True) == asked_at % len(fixes)
    assert ("arrived last" in fixes[asked_at].note) == ("all_reduce" in name)


@pytest.mark.parametrize("between", [True, False])
def test_gradients_that_a_split_layer_sends_by_dtensor_are_of_activations(between: bool) -> None:
    """Of two layers one sum of the forward pass stands between, too little for what the backward pass sends."""
    builder = TraceBuilder(None)
    for number in range(3):
        at = number * 20_000.0
        builder.step(number, at, 20_000)
        for layer in range(2):
            builder.op("aten::linear", at + 3_000 * layer, 1_000)
            if between and not layer:
                _on_host(builder, at + 1_500, 300)
        for layer in range(2):
            node = at + 7_000 + 5_000 * layer
            name = "_FromTorchTensorBackward" if between else "AddmmBackward0"
            builder.op(f"autograd::engine::evaluate_function: {name}", node, 4_000)
            builder.op(name, node + 10, 3_900)
            _on_host(builder, node + 100, 3_000)
    assert Facts(builder.trace()).communication.collectives.activations is between


def _on_host(builder: TraceBuilder, at: float, dur: float) -> None:
    args = {"Input Dims": [[4, 64, 512]], "Input type": ["float"]}
    builder.event("gloo:all_reduce", "user_annotation", at, dur, tid=77, args=args)


@pytest.mark.parametrize("name", ["nccl:recv 1<-0", "nccl:send 1->2"])
def test_stages_of_a_pipeline_are_told_to_take_more_micro_batches(name: str) -> None:
    builder = world(name=name)
    text = fixes(EXPOSED, builder)
    assert "n_microbatches" in text
    assert not any(word in text for word in OF_GRADIENTS)
    assert run(SMALL, builder).state is State.NOT_APPLICABLE


@pytest.mark.parametrize("fsdp", [True, False])
@pytest.mark.parametrize("kind", ["float", "c10::BFloat16"])
def test_sharded_parameters_are_told_of_the_library_that_shards(fsdp: bool, kind: str) -> None:
    """Parameters are gathered and gradients scattered, by FSDP or by a library that opens no ranges of its own."""
    builder = world(name="nccl:_all_gather_base")
    for event in builder.events:
        if event["name"].startswith("nccl:"):
            event["args"]["Input type"] = [kind]
            if event["tid"] == AUTOGRAD:
                event["name"] = "nccl:_reduce_scatter_base"
    if fsdp:
        builder.annotation("FullyShardedDataParallel.forward", 10, 500)
    text = fixes(EXPOSED, builder)
    assert ("fully_shard" in text, "DeepSpeed" in text) == (fsdp, not fsdp)
    # What is sent in 16 bits already is not halved by sending it in 16 bits.
    halves = "MixedPrecision" in text or "communication_data_type" in text
    assert halves is (kind == "float")


@pytest.mark.parametrize("fsdp", [True, False])
@pytest.mark.parametrize(("gathered", "scattered"), [("c10::BFloat16", "float"), ("float", "float")])
def test_gradients_that_are_scattered_wider_than_parameters_are_told_as_that(
    fsdp: bool, gathered: str, scattered: str
) -> None:
    """Most calls are gathers of a shard in 16 bits, most bytes are of the scatters."""
    builder = world(name="nccl:_all_gather_base")
    for event in builder.events:
        if event["name"].startswith("nccl:"):
            mine = event["tid"] == AUTOGRAD
            event["name"] = "nccl:_reduce_scatter_base" if mine else event["name"]
            event["args"] |= {"Input type": [scattered if mine else gathered], "Input Dims": [[4096 if mine else 512]]}
    if fsdp:
        builder.annotation("FullyShardedDataParallel.forward", 10, 500)
    text = fixes(EXPOSED, builder)
    assert ("Parameters are gathered in 16 bits already" in text) is (gathered != scattered)
    assert "What is sent has 16 bits" not in text


GATHERING = "nccl:all_gather"


@pytest.mark.parametrize(
    ("around", "told"), [(None, True), ("FSDP::pre_forward (0)", False), ("DistributedDataParallel.forward", False)]
)
def test_what_is_gathered_between_layers_can_stay_split(around: str | None, told: bool) -> None:
    builder = world(name=GATHERING)
    # Every other one is a sum, as behind each pair of layers.
    for index, event in enumerate(event for event in builder.events if event["name"] == GATHERING):
        event["name"] = GATHERING if index % 2 else "nccl:all_reduce"
    if around is not None:
        builder.annotation(around, 10, 50)
    assert (Facts(builder.trace()).communication.collectives.gathered_ns > 0) is told
    assert ("split from one layer to the next" in fixes(EXPOSED, builder)) is told


def test_sums_between_layers_are_not_gathered() -> None:
    assert "split from one layer to the next" not in fixes(EXPOSED, world())
    assert Facts(world().trace()).communication.collectives.gathered_ns == 0


def on_host(*, ranges: bool) -> TraceBuilder:
    """Steps of 20 ms over gloo: four layers, behind each a reduction that an op waits for; its own range is there or not."""
    builder = TraceBuilder(None, top={"distributedInfo": {"backend": "gloo", "rank": 0, "world_size": 2}})
    for number in range(3):
        at = number * 20_000.0
        builder.step(number, at, 20_000)
        for layer in range(4):
            when = at + layer * 4_000
            builder.op("aten::linear", when, 1_000)
            builder.event("c10d::allreduce_", "cpu_op", when + 1_010, 20)
            builder.op("_c10d_functional::wait_tensor", when + 1_050, 2_000)
            if ranges:
                builder.annotation("gloo:all_reduce", when + 1_040, 1_900, thread=77)
        builder.op("autograd::engine::evaluate_function: AddmmBackward0", at + 17_000, 1_000)
    return builder


@pytest.mark.parametrize("ranges", [True, False])
def test_on_a_host_nothing_hides_less_than_nothing_and_nvlink_is_not_advised(ranges: bool) -> None:
    found = Facts(on_host(ranges=ranges).trace()).communication.collectives
    assert found.exposed.total_ns >= 3 * 4 * 2_000_000
    assert found.hidden_ratio == pytest.approx(0.0, abs=0.02)
    assert found.hidden_ratio >= 0
    said = fixes(EXPOSED, on_host(ranges=ranges))
    assert "NVLink" not in said
    assert "symm_mem" not in said
