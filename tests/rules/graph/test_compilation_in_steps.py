"""GR003: 30 ms of compiling inside some of the recorded steps."""

from __future__ import annotations

from typing import Any

import pytest

from analyzer.explain import explain_facts
from analyzer.facts import Facts
from analyzer.finding import State
from building.builders import TraceBuilder
from rules import RULES
from rules.graph.compilation_in_steps import RULE
from running.one_rule import judged, run

COMPILING = "_compile.compile_inner (dynamo_timed)"


def world(
    *, steps: frozenset[int] = frozenset({0, 1, 2, 3}), dur: float = 30_000, device: str | None = "cuda"
) -> TraceBuilder:
    """Four steps of 100 ms: compiling in some, then work that fills the step."""
    builder = TraceBuilder(device)
    for number in range(4):
        at = number * 100_000.0
        builder.step(number, at, 100_000)
        if number in steps:
            builder.annotation(COMPILING, at, dur)
        begin = at + (dur if number in steps else 0)
        if device:
            builder.launch(begin, kernel_start=begin + 10, kernel_dur=100_000 - 10 - (begin - at))
        else:
            builder.op("aten::linear", begin, 100_000 - (begin - at))
    return builder


def test_fires_with_its_time_where_it_happens_again_and_again() -> None:
    found = judged(RULE, world())
    assert found.ns_per_step == 30_000_000
    assert found.finding.title == "Compiled again and again"
    assert "TORCH_LOGS=recompiles" in found.finding.fix[0].code


def test_a_single_compilation_saves_nothing_in_training() -> None:
    found = judged(RULE, world(steps=frozenset({1})))
    assert found.ns_per_step == 0
    assert "schedule" in found.finding.fix[0].code


@pytest.mark.parametrize(("steps", "saved_ns"), [({0, 1}, 0), ({0, 3}, 15_000_000), ({2, 3}, 15_000_000)])
def test_what_only_the_first_steps_compile_is_start_up(steps: set[int], saved_ns: float) -> None:
    """It was told both to be start-up that does not come again (PG002), and to be saved in each step."""
    found = judged(RULE, world(steps=frozenset(steps)))
    assert found.ns_per_step == saved_ns
    assert (found.finding.title == "Compiled again and again") is bool(saved_ns)
    assert any("TORCH_LOGS=recompiles" in one.code for one in found.finding.fix)
    assert ("first half" in found.finding.saving.basis) is not bool(saved_ns)


@pytest.mark.parametrize("name", ["AdamW", "Lion"])
def test_an_update_that_is_compiled_again_wants_its_rate_as_a_tensor(name: str) -> None:
    builder = world()
    for number in range(4):
        builder.optimizer(number * 100_000.0, 30_000, name)
    found = judged(RULE, builder)
    assert found.ns_per_step == 30_000_000
    fix = found.finding.fix
    assert ("lr=torch.tensor(lr)" in fix[0].code) is (name == "AdamW")
    assert not any("dynamic" in one.code for one in fix)
    assert any("TORCH_LOGS=recompiles" in one.code for one in fix)


def test_several_versions_of_one_frame_are_recompilations() -> None:
    builder = world(steps=frozenset({1}))
    builder.op("Torch-Compiled Region: 0/0", 50, 10)
    builder.op("Torch-Compiled Region: 0/1", 150_000, 10)
    assert "one frame has 2 versions" in judged(RULE, builder).finding.why


@pytest.mark.parametrize(("dur", "state"), [(990, State.CLEAR), (1_010, State.FIRED)])
def test_boundary(dur: float, state: State) -> None:
    builder = world(dur=dur)
    builder.op("Torch-Compiled Region: 0/0", 50, 10)
    assert run(RULE, builder).state is state


def test_on_a_cpu_only_trace() -> None:
    assert judged(RULE, world(device=None)).ns_per_step == 30_000_000


def test_not_applicable_without_compiled_code() -> None:
    assert run(RULE, world(steps=frozenset())).state is State.NOT_APPLICABLE


def captured(*, replays: int, marked: bool = True, first_only: bool = False) -> TraceBuilder:
    """Twelve steps of 100 ms: a graph is captured in 60 ms, made in 20, and replayed so many times; or only in the first step."""
    builder = TraceBuilder()
    for number in range(12):
        at = number * 100_000.0
        if marked:
            builder.step(number, at, 100_000)
        if number == 0 or not first_only:
            builder.runtime("cudaStreamBeginCapture", at + 10, 20)
            builder.op("aten::mm", at + 100, 59_000)
            builder.runtime("cudaStreamEndCapture", at + 60_000, 50)
            builder.runtime("cudaGraphInstantiateWithFlags", at + 60_100, 19_000)
            builder.runtime("cudaGraphDestroy", at + 79_200, 700)
        for index in range(replays):
            start, each = at + 80_000 + index * 19_000 / replays, 18_000 / replays
            graph = builder.runtime("cudaGraphLaunch", start, 100)
            builder.kernel("gemm", start + 150, each, correlation=graph)
    return builder


@pytest.mark.parametrize("marked", [True, False])
def test_graphs_that_are_captured_for_one_replay_are_a_loss(marked: bool) -> None:
    found = judged(RULE, captured(replays=1, marked=marked))
    assert found.finding.title == "Graphs captured again and again"
    assert found.ratio == pytest.approx(0.8, abs=0.02)
    assert bool(found.finding.caveats) is not marked


@pytest.mark.parametrize("arguments", [{"replays": 20}, {"replays": 1, "first_only": True}])
def test_graphs_that_are_replayed_pay(arguments: dict[str, Any]) -> None:
    assert run(RULE, captured(**arguments)).state is State.NOT_APPLICABLE


def test_captures_before_any_replay_are_start_up() -> None:
    builder = TraceBuilder()
    for index in range(20):
        builder.runtime("cudaStreamBeginCapture", index * 1_000, 20)
        builder.runtime("cudaGraphInstantiateWithFlags", index * 1_000 + 500, 400)
    for index in range(20):
        graph = builder.runtime("cudaGraphLaunch", 20_000 + index * 1_000, 20)
        builder.kernel("gemm", 20_100 + index * 1_000, 900, correlation=graph)
    assert run(RULE, builder).state is State.NOT_APPLICABLE


def test_what_each_step_captures_is_no_warm_up() -> None:
    analysis = explain_facts(Facts(captured(replays=1, marked=False).trace()), rules=RULES).analysis
    assert analysis.summary.verdict.bound_by == "compile"
    assert "capturing graphs" in analysis.summary.verdict.text
    # The general rule sends to this one.
    (idle,) = (one for one in analysis.findings if one.rule == "ID002")
    assert "GR003" in idle.fix[0].code
    once = explain_facts(Facts(captured(replays=1, first_only=True).trace()), rules=RULES).analysis
    assert once.summary.verdict.bound_by != "compile"
