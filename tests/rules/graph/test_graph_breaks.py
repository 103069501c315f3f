"""GR002: two compiled regions a step with 20 ms of eager ops between them, while the device idles."""

from __future__ import annotations

import pytest

from analyzer.finding import State
from building.builders import TraceBuilder
from rules.graph.graph_breaks import RULE
from running.one_rule import judged, run


def world(
    *, eager: float = 20_000, frames: tuple[str, str] = ("0/0", "1/0"), device: str | None = "cuda", guards: float = 0
) -> TraceBuilder:
    """Three steps of 100 ms: a region, eager ops, a region, then work that fills the step."""
    builder = TraceBuilder(device)
    for number in range(3):
        at = number * 100_000.0
        builder.step(number, at, 100_000)
        builder.op(f"Torch-Compiled Region: {frames[0]}", at, 5_000)
        if eager:
            builder.op("aten::relu", at + 5_000, eager)
        if guards:
            builder.op("TorchDynamo Cache Lookup", at + 5_000 + eager, guards)
        builder.op(f"Torch-Compiled Region: {frames[1]}", at + 5_000 + eager + guards, 5_000)
        if device:
            begin = at + 10_000 + eager + guards
            builder.launch(begin, kernel_start=begin + 10, kernel_dur=100_000 - 10_010 - eager - guards)
    return builder


def test_fires_with_the_idle_time_between_regions() -> None:
    found = judged(RULE, world())
    assert found.ns_per_step == 20_000_000
    assert (
        found.finding.why
        == "A step calls 2 compiled frames; eager ops between them own 20 % of it, guards and the way from one to the next 0 %."
    )


def test_guards_alone_suffice() -> None:
    found = judged(RULE, world(eager=0, guards=3_000))
    assert found.ns_per_step == 3_000_000


def test_calling_one_region_twice_is_no_break() -> None:
    assert run(RULE, world(frames=("0/0", "0/0"))).state is State.CLEAR


def test_quiet_when_the_backward_pass_lies_between() -> None:
    builder = world(eager=0.001)
    for number in range(3):
        builder.op("CompiledFunctionBackward", number * 100_000 + 5_000, 0.001)
    assert run(RULE, builder).state is State.CLEAR


@pytest.mark.parametrize(("eager", "state"), [(4_900, State.CLEAR), (5_100, State.FIRED)])
def test_boundary_of_eager(eager: float, state: State) -> None:
    assert run(RULE, world(eager=eager)).state is state


@pytest.mark.parametrize(("guards", "state"), [(1_900, State.CLEAR), (2_100, State.FIRED)])
def test_boundary_of_guards(guards: float, state: State) -> None:
    assert run(RULE, world(eager=0, guards=guards)).state is state


def test_on_a_cpu_only_trace_ops_are_work_and_guards_are_not() -> None:
    assert judged(RULE, world(device=None, guards=3_000)).ns_per_step == 3_000_000


def nested(*, eager: float = 0, way: float = 3_000, device: str | None = None) -> TraceBuilder:
    """As torch 2.15 writes it: the region after the break lies inside the one before."""
    builder = TraceBuilder(device)
    for number in range(3):
        at = number * 100_000.0
        builder.step(number, at, 100_000)
        builder.op("Torch-Compiled Region: 0/0", at, 40_000 + eager + way)
        builder.op("CompiledFunction", at, 20_000)
        if eager:
            builder.op("aten::relu", at + 20_000, eager)
        builder.op("Torch-Compiled Region: 1/0", at + 20_000 + eager + way, 20_000)
        builder.op("CompiledFunction", at + 20_000 + eager + way, 20_000)
        builder.op("aten::linear", at + 40_000 + eager + way, 60_000 - eager - way)
    return builder


def test_a_region_inside_another_is_a_break() -> None:
    found = judged(RULE, nested())
    assert found.ns_per_step == 3_000_000
    assert "2 compiled frames" in found.finding.why
    assert "the way from one to the next 3.0 %" in found.finding.why


@pytest.mark.parametrize(("inside", "state"), [(True, State.CANNOT_TELL), (False, State.FIRED)])
def test_a_compiled_training_step_ends_its_graph_at_the_backward_pass(inside: bool, state: State) -> None:
    """Nobody can join what lies before and behind it, nor what an optimizer does: 53 % of a step were claimed, 9 % could go."""
    builder = nested()
    for number in range(3):
        at = number * 100_000 + (20_500 if inside else 70_000)
        builder.op("autograd::engine::evaluate_function: CompiledFunctionBackward", at, 1_000)
    assert run(RULE, builder).state is state


@pytest.mark.parametrize(("gradients", "state"), [(False, State.NOT_APPLICABLE), (True, State.FIRED)])
def test_a_compiled_update_is_no_model(gradients: bool, state: State) -> None:
    """Torch wraps `Optimizer.step` in two functions: three frames in any case, of which none is a graph that breaks."""
    builder = TraceBuilder(None)
    for number in range(3):
        at = number * 100_000
        builder.step(number, at, 100_000)
        builder.op("aten::linear", at, 50_000)
        builder.op("autograd::engine::evaluate_function: AddmmBackward0", at + 50_000, 20_000)
        for depth, frame in enumerate(("0/0", "1/0", "2/0")):
            builder.op(f"Torch-Compiled Region: {frame}", at + 72_000 + depth * 3_000, 20_000 - depth * 6_000)
        builder.op("CompiledFunction" if gradients else "aten::add_", at + 80_000, 1_000)
    assert run(RULE, builder).state is state


def test_a_whole_graph_is_entered_once() -> None:
    builder = nested(way=3_000)
    for number in range(3):
        at = number * 100_000.0
        # Each compiled function takes 20 ms and runs ops for 16 of them: one of two entrances stays.
        builder.op("aten::addmm", at + 4_000, 16_000)
        builder.op("aten::addmm", at + 27_000, 16_000)
    assert judged(RULE, builder).ns_per_step == 3_000_000 + 4_000_000


def test_eager_ops_inside_the_outer_region_are_seen() -> None:
    assert "eager ops between them own 6.0 %" in judged(RULE, nested(eager=6_000, way=0)).finding.why


@pytest.mark.parametrize(("way", "state"), [(1_900, State.CLEAR), (2_100, State.FIRED)])
def test_boundary_of_the_way_between(way: float, state: State) -> None:
    assert run(RULE, nested(way=way)).state is state


def test_not_applicable_without_compiled_code() -> None:
    builder = TraceBuilder().step(0, 0, 100)
    builder.launch(0, kernel_start=10, kernel_dur=80)
    assert run(RULE, builder).state is State.NOT_APPLICABLE


@pytest.mark.parametrize(
    ("op", "said", "captured"),
    [
        ("aten::item", "`aten::item`, 1 time a step: reading a value breaks a graph", True),
        ("aten::nonzero", "`aten::nonzero`, 1 time a step: reading a size breaks a graph", False),
        ("aten::relu", None, False),
    ],
)
def test_what_breaks_a_graph_by_itself_is_named(op: str, said: str | None, *, captured: bool) -> None:
    builder = world()
    for event in builder.events:
        event["name"] = event["name"].replace("aten::relu", op)
    found = judged(RULE, builder).finding
    assert ("Among them" in found.why) is (said is not None)
    assert said is None or said in found.why
    assert any("capture_scalar_outputs" in fix.code for fix in found.fix) is captured


def test_stacks_name_the_line_between() -> None:
    builder = world()
    for number in range(3):
        builder.python("/home/someone/project/train.py(31): train", number * 100_000.0, 100_000)
        builder.python("/home/someone/project/model.py(7): forward", number * 100_000.0 + 4_900, 20_200)
    found = judged(RULE, builder).finding
    assert found.location is not None
    assert (found.location.file, found.location.begins) == ("model.py", 7)
