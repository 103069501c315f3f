"""GR003: 30 ms of compiling inside some of the recorded steps."""

from __future__ import annotations

import pytest

from analyzer.finding import State
from builders import TraceBuilder
from rules.graph.compilation_in_steps import RULE
from worlds import judged, run

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
