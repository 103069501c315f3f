"""OP005: an update on the CPU, between gradients that are copied out and weights that are copied back."""

from __future__ import annotations

import pytest

from analyzer.finding import Severity, State
from building.builders import TraceBuilder
from rules.idle.launch_bound import RULE as LAUNCHES
from rules.optimizer.per_parameter_updates import RULE as ONE_BY_ONE
from rules.optimizer.unfused_foreach import RULE as PASSES
from rules.optimizer.update_on_host import RULE
from rules.transfer.exposed_input_copies import RULE as COPIES
from running.one_rule import judged, run
from stories.of_hosts_beside_training import STORIES

STEP = 100_000
UPDATE = ("aten::mul_", "aten::lerp_", "aten::addcmul_", "aten::addcdiv_")


def world(
    *, update: float = 30_000, name: str = "AdamW", on_device: bool = False, ops: bool = True, shards: bool = False
) -> TraceBuilder:
    """Steps of 100 ms: the device computes, then idles for `update` us in the optimizer, and for 8 ms of copies around it.

    Args:
        update: Length of the update itself.
        name: The optimizer's class.
        on_device: Each op of the update launches a kernel.
        ops: The update is made of ops of torch; else of an extension, which records nothing.
        shards: Parameters are gathered from other ranks.
    """
    builder = TraceBuilder(top={"distributedInfo": {"backend": "nccl", "rank": 0, "world_size": 2}} if shards else {})
    for number in range(3):
        at = float(number * STEP)
        builder.step(number, at, STEP)
        busy = STEP - update - 8_000
        for index in range(20):
            each = (busy - 1_000) / 20
            builder.launch(at + 20 * index, kernel_start=at + 500 + each * index, kernel_dur=each, name="gemm")
        if shards:
            builder.annotation("FSDP::pre_forward", at + 445, 30)
            builder.annotation("nccl:_all_gather_base", at + 450, 20)
            gather = "ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
            builder.launch(at + 455, kernel_start=at + 600, kernel_dur=500, name=gather, stream=20, op=None)
        start = at + busy
        builder.optimizer(start, update + 8_000, name)
        builder.copy("DtoH", start + 5, 4_000, start=start + 10, dur=3_980, size=100 << 20, pinned=True)
        for index in range(100 if ops else 0):
            each = update / 100
            when = start + 4_100 + index * each
            if on_device:
                builder.launch(when, kernel_start=when + 10, kernel_dur=each * 0.5, op=UPDATE[index % 4])
            else:
                builder.op(UPDATE[index % 4], when, each * 0.9)
        builder.copy("HtoD", at + STEP - 3_950, 8, start=at + STEP - 3_940, dur=3_900, size=100 << 20, pinned=True)
    return builder


@pytest.mark.parametrize("ops", [True, False], ids=["ops of torch", "an extension"])
def test_the_update_and_its_copies_are_claimed(ops: bool) -> None:
    found = judged(RULE, world(ops=ops))
    assert found.ns_per_step == pytest.approx(38_000_000, rel=0.02)
    assert found.severity is Severity.HIGH
    assert found.finding.why.startswith("AdamW.step launches no kernel: it updates the weights on the CPU.")


def test_what_updates_on_the_device_is_left_to_other_rules() -> None:
    builder = world(on_device=True)
    assert run(RULE, builder).state is State.NOT_APPLICABLE
    assert run(ONE_BY_ONE, builder).state is State.FIRED


@pytest.mark.parametrize("ops", [True, False], ids=["ops of torch", "an extension"])
def test_no_rule_takes_the_update_for_launches_or_its_copies_for_batches(ops: bool) -> None:
    """`fused=True` of a device needs kernels; the copies back are weights, which nothing could have sent earlier."""
    builder = world(ops=ops, update=10_000)
    for rule in (ONE_BY_ONE, LAUNCHES, COPIES):
        assert run(rule, builder).state is not State.FIRED, rule.meta.code


@pytest.mark.parametrize(
    ("name", "shards", "said"),
    [
        ("DeepSpeedCPUAdam", False, "offload_optimizer"),
        ("AdamW", True, "CPUOffloadPolicy"),
        ("AdamW", False, "before the optimizer is made"),
    ],
)
def test_the_advice_is_for_what_offloads(name: str, shards: bool, said: str) -> None:
    first, *others = judged(RULE, world(name=name, shards=shards)).finding.fix
    assert said in first.code
    assert any("torch 2.4" in fix.code for fix in others) is (name == "AdamW")
    assert any("bind_cores_to_rank" in fix.code for fix in others) is (name != "AdamW")


def test_a_short_update_is_clear() -> None:
    builder = world(update=1_000)
    for event in builder.events:
        if event["cat"] == "gpu_memcpy":
            event["dur"] = 10
    assert run(RULE, builder).state is State.CLEAR


def test_a_call_that_launches_is_an_update_on_the_device_though_its_kernels_are_lost() -> None:
    builder = world()
    for number in range(3):
        builder.runtime("cudaLaunchKernel", number * STEP + 75_000, 5)
    assert run(RULE, builder).state is State.NOT_APPLICABLE


def test_no_optimizer() -> None:
    builder = world()
    builder.events[:] = [event for event in builder.events if "Optimizer" not in event["name"]]
    assert run(RULE, builder).state is State.NOT_APPLICABLE


@pytest.mark.parametrize(("name", "named"), [("AdamW", True), ("SGD", False)])
def test_another_update_made_for_the_cpu_is_named_where_it_is_the_same(name: str, *, named: bool) -> None:
    assert any("DeepSpeedCPUAdam" in fix.note for fix in judged(RULE, world(name=name)).finding.fix) is named


def test_passes_over_lists_on_the_cpu_are_no_passes_of_the_device() -> None:
    """The stories' FSDP2 with offloaded shards: its `_foreach_` ops launch nothing."""
    builder = next(one for one in STORIES if one.name == "shards in the host's memory").make()
    assert run(RULE, builder).state is State.FIRED
    assert run(PASSES, builder).state is State.NOT_APPLICABLE
