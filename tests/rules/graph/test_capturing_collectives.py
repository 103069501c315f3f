"""GR004 and ID001 where steps communicate: NCCL's collectives can be part of a graph, of others nothing is documented."""

from __future__ import annotations

from typing import Any

import pytest

from analyzer.engine.fitting import fitted
from analyzer.facts import Facts
from analyzer.facts.recording.frameworks import frameworks
from analyzer.facts.recording.versions import versions
from analyzer.finding import Confidence, Finding, State
from building.builders import TraceBuilder
from rules.graph.graph_candidate import RULE
from rules.idle.advice import feed_faster
from running.one_rule import judged, run

NCCL = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
OLD_NCCL = "ncclKernel_AllReduce_RING_LL_Sum_float(ncclWorkElem)"
CUSTOM = "void vllm::cross_device_reduce_1stage<__nv_bfloat16, 8>(vllm::RankData*, vllm::RankSignals)"
EXPERTS = "void deep_ep::internode_ll::dispatch<false, 7168>(void*, float*)"


def world(
    name: str | None,
    *,
    ranges: tuple[str, ...] = ("DistributedDataParallel.forward",),
    device: str = "cuda",
    nccl: str | None = None,
    **top: Any,
) -> TraceBuilder:
    """Steps of ten kernels of 20 us, each waiting for its launch; the last one of a step is the collective."""
    info = {"backend": "nccl", "rank": 0, "world_size": 2} | ({"nccl_version": nccl} if nccl else {})
    builder = TraceBuilder(device, top={"distributedInfo": info, **top} if name else top)
    for number in range(4):
        at = number * 1_000.0
        builder.step(number, at, 1_000)
        for index in range(10):
            launch = at + index * 100
            last = name if index == 9 else None
            builder.op("aten::add", launch, 70)
            builder.launch(
                launch + 60, kernel_start=launch + 68, kernel_dur=20, name=last or f"kernel_{index}", op=None
            )
        for place, called in enumerate(ranges):
            builder.annotation(called, at + 5 + place, 400 - 2 * place)
        builder.optimizer(at + 950, 20)
    return builder


def told(builder: TraceBuilder) -> Finding:
    """The finding with the fixes that the versions in the trace allow."""
    facts = Facts(builder.trace())
    return fitted(judged(RULE, builder).finding, versions(facts.trace.meta), frameworks(facts.trace), on_device=True)


def test_steps_without_collectives_are_told_of_none() -> None:
    found = told(world(None, ranges=()))
    assert found.confidence is Confidence.MEDIUM
    assert "NCCL" not in " ".join(advice.code + advice.note for advice in found.fix)


@pytest.mark.parametrize("name", [NCCL, OLD_NCCL])
def test_collectives_of_nccl_can_be_captured_under_conditions(name: str) -> None:
    found = told(world(name))
    assert found.confidence is Confidence.LOW
    compiled, parts, whole = found.fix
    assert 'mode="reduce-overhead"' in compiled.code
    # Parts of the model are graphed before the wrapper reduces what they leave.
    assert parts.code.index("make_graphed_callables") < parts.code.index("DistributedDataParallel(")
    assert "NCCL_ASYNC_ERROR_HANDLING" in whole.code
    assert whole.code.index("torch.cuda.stream(") < whole.code.index("DistributedDataParallel(")
    assert "range(11)" in whole.code
    assert "NCCL 2.9" in whole.note
    # torch refuses to capture an update of Adam without it.
    assert "capturable=True" in whole.note
    assert any("all ranks alike" in caveat for caveat in found.caveats)


@pytest.mark.parametrize(
    ("nccl", "runtime", "whole"), [("2.21.5", 12_060, True), ("2.8.4", 12_060, False), ("2.21.5", 11_020, False)]
)
def test_a_whole_step_is_captured_with_its_versions_only(nccl: str, runtime: int, whole: bool) -> None:
    found = told(world(NCCL, nccl=nccl, cuda_runtime_version=runtime))
    assert any("NCCL_ASYNC_ERROR_HANDLING" in advice.code for advice in found.fix) is whole
    assert any("make_graphed_callables" in advice.code for advice in found.fix)


@pytest.mark.parametrize(
    ("builder", "reason"),
    [
        (world(CUSTOM, ranges=()), "vllm::cross_device_reduce_1stage"),
        (world(EXPERTS), "deep_ep::internode_ll::dispatch"),
        (world(NCCL, device="rocm"), "not of those of this device"),
        (world(NCCL, ranges=("FSDP::pre_forward",)), "sharded"),
    ],
    ids=["a library's own kernels", "experts", "RCCL", "FSDP"],
)
def test_abstains_where_nothing_documents_that_they_can_be_captured(builder: TraceBuilder, reason: str) -> None:
    result = run(RULE, builder)
    assert result.state is State.CANNOT_TELL
    assert reason in result.reason


@pytest.mark.parametrize("name", [NCCL, CUSTOM])
def test_an_engine_captures_its_collectives_itself(name: str) -> None:
    builder = world(name, ranges=("gpu_model_runner: forward",))
    builder.events[:] = [event for event in builder.events if "Optimizer" not in event["name"]]
    (fix,) = told(builder).fix
    assert "enforce_eager=False" in fix.code


def test_advice_for_launch_bound_runs_graphs_the_model_before_it_is_wrapped() -> None:
    wrapped, plain = (
        next(advice.code for advice in feed_faster(Facts(builder.trace())) if "make_graphed" in advice.code)
        for builder in (world(NCCL), world(None, ranges=()))
    )
    assert wrapped.index("make_graphed_callables") < wrapped.index("DistributedDataParallel(")
    assert "DistributedDataParallel" not in plain
