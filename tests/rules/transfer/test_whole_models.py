"""Models that are sent to the device for each of their calls are no batches: they can stay there."""

from __future__ import annotations

import pytest

from analyzer.facts import Facts
from analyzer.finding import State
from building.builders import TraceBuilder
from building.clocked import Clocked
from rules.transfer.exposed_input_copies import RULE as EXPOSED
from rules.transfer.pageable_copies import RULE as PAGEABLE
from running.one_rule import judged, run
from stories.models import NVJET


def world(*, copies: int, sent: int = 4, pinned: bool = True) -> TraceBuilder:
    """Four calls of 40 kernels; before `sent` of them so many copies of 4 MiB, before the others one."""
    world = Clocked()
    for number in world.steps(4):
        for _ in range(copies if number < sent else 1):
            world.copied("HtoD", 4 << 20, pinned=pinned)
        for _ in range(40):
            world.kernel_of("aten::linear/aten::mm", NVJET, 900)
        world.synchronize("cudaStreamSynchronize")
    return world


@pytest.mark.parametrize("rule", [EXPOSED, PAGEABLE])
def test_a_model_that_is_sent_for_each_call_stays_on_the_device(rule: object) -> None:
    found = judged(rule, world(copies=80, pinned=rule is EXPOSED)).finding  # type: ignore[arg-type]
    text = found.why + "".join(advice.code + advice.note for advice in found.fix)
    assert "a model that is kept on the host between its calls" in found.why
    assert "enable_model_cpu_offload" in found.fix[0].code
    assert "DataLoader" not in text
    assert "uint8" not in text


@pytest.mark.parametrize(("copies", "sent"), [(20, 4), (80, 1)], ids=["parts of a batch", "loaded once"])
def test_parts_of_a_batch_and_a_model_loaded_once_are_not_taken_for_one(copies: int, sent: int) -> None:
    facts = Facts(world(copies=copies, sent=sent).trace())
    assert facts.transfer.whole_models is False
    assert facts.transfer.of_weights is False


@pytest.mark.parametrize("kernel", [900, 20], ids=["hides some", "hides next to nothing"])
def test_weights_are_told_however_little_there_is_to_hide_them_behind(kernel: float) -> None:
    """Weights are sent for each of 32 layers: on the device they would not travel at all."""
    world = Clocked()
    for _ in world.steps(4):
        for _ in range(32):
            world.copied("HtoD", 40 << 20, pinned=True)
            world.kernel_of("aten::linear/aten::mm", NVJET, kernel)
        world.synchronize("cudaStreamSynchronize")
    found = judged(EXPOSED, world).finding
    assert "weights" in found.why
    assert "enable_sequential_cpu_offload" in found.fix[0].code


def test_a_batch_that_nothing_can_hide_is_not_told() -> None:
    world = Clocked()
    for _ in world.steps(6):
        world.copied("HtoD", 40 << 20, pinned=True)
        world.kernel_of("aten::linear/aten::mm", NVJET, 20)
        world.synchronize("cudaStreamSynchronize")
    assert run(EXPOSED, world).state is State.CLEAR


def served(*frames: str, tensors: int = 80) -> TraceBuilder:
    """An engine that sends so many tensors of 1.6 MB before each fourth pass, in these frames."""
    world = Clocked(marks=False)
    for _ in range(4):
        with world.stack("serve.py(9): main", *frames):
            for _ in range(tensors):
                world.copied("HtoD", 1_600_000)
        for _ in range(4):
            with world.inside("execute_context_0(0)_generation_4(4)"):
                for _ in range(40):
                    world.kernel_of("aten::linear/aten::mm", NVJET, 90)
                world.synchronize("cudaStreamSynchronize")
    return world


def test_adapters_that_an_engine_loads_for_requests_are_told_as_such() -> None:
    frames = (
        "vllm/v1/worker/lora_model_runner_mixin.py(90): set_active_loras",
        "vllm/lora/layers/base_linear.py(60): set_lora",
    )
    found = judged(PAGEABLE, served(*frames)).finding
    assert "weights of low-rank adapters" in found.why
    assert "max_loras" in found.fix[0].code
    assert not any("offload" in advice.code for advice in found.fix)


def test_a_few_tensors_of_an_adapter_are_no_batch_to_be_sent_earlier_either() -> None:
    """Too few for a model, all beside no kernel: where they stay on the device, all of their time is saved."""
    found = judged(EXPOSED, served("peft/tuners/lora/layer.py(90): set_lora", tensors=20))
    assert found.finding.title == "Copies to the device delay the kernels"
    assert "set_adapters" in found.finding.fix[0].code
    other = judged(EXPOSED, served("serve.py(40): answer", tensors=20))
    assert not any("adapter" in one.code for one in other.finding.fix)
    assert other.ns_per_step == found.ns_per_step


def test_what_an_engine_sends_otherwise_is_no_pipeline_of_diffusers() -> None:
    found = judged(PAGEABLE, served("vllm/model_executor/models/utils.py(540): forward")).finding
    assert "low-rank adapters, which" not in found.why
    assert "pipe." not in found.fix[0].code
    assert "cpu_offload_gb" in found.fix[0].code
