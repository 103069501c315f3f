"""An evaluation loop: the GPU computes for 6 ms, a blocking copy waits for the result, and the host scores it."""

from __future__ import annotations

import pytest

from analyzer.explain import explain_facts
from analyzer.facts import Facts
from analyzer.finding import State
from building.builders import TraceBuilder
from building.clocked import Clocked
from rules import RULES
from rules.python.after_reads import BEHIND_PASSES, BETWEEN_KERNELS
from rules.python.python_overhead import RULE
from rules.sync.blocking_copy_out import RULE as COPIES
from running.one_rule import judged, run
from stories.models import layers, layers_back, update

WORK = 6_000


def evaluation(*, score: float, size: int = 1 << 20) -> TraceBuilder:
    """Launch 20 kernels, wait for the result, score it in the program's own code, go on to the next batch."""
    builder = TraceBuilder()
    for number in range(6):
        at = number * (WORK + 100 + score)
        builder.step(number, at, WORK + 100 + score)
        for index in range(20):
            builder.launch(
                at + index * 10, kernel_start=at + 20 + index * 300, kernel_dur=300, name="gemm", op="aten::linear"
            )
        builder.op("aten::copy_", at + 300, WORK - 260)
        builder.copy("DtoH", at + 310, WORK - 280, start=at + WORK + 20, dur=10, size=size, op=None)
    return builder


def one_batch_ahead(*, score: float) -> TraceBuilder:
    """The same, but the next batch is launched before the host waits for this one: the GPU has its work while the host scores."""
    builder = TraceBuilder()
    for number in range(6):
        at = number * WORK
        builder.step(number, at, WORK)
        for index in range(20):
            start = at + WORK + index * 300
            builder.launch(at + score + index * 10, kernel_start=start, kernel_dur=300, name="gemm", op="aten::linear")
        wait = WORK - score - 400
        builder.op("aten::copy_", at + score + 300, wait)
        builder.copy("DtoH", at + score + 310, wait - 20, start=at + WORK - 15, dur=10, op=None, stream=20)
    return builder


def said(builder: TraceBuilder) -> str:
    return explain_facts(Facts(builder.trace()), rules=RULES).analysis.summary.verdict.text


def test_host_code_behind_a_copy_that_waited_is_told_to_look_a_step_later() -> None:
    found = judged(RULE, evaluation(score=2_500)).finding
    assert "comes after values were copied to the host: for 5.7 ms the host stood in the copies" in found.why
    assert any("score(before[1])" in fix.code for fix in found.fix)
    assert "most of it after it read values off the GPU" in said(evaluation(score=2_500))


def test_the_copy_itself_says_what_it_cost_and_what_came_behind_it() -> None:
    result = run(COPIES, evaluation(score=2_500))
    assert result.state is State.CLEAR
    assert "the host stands in them for 66 % of the step while the GPU computes what they wait for" in result.reason
    assert "the GPU idles for 30 % of the step while the host goes on" in result.reason


def test_a_wait_beside_work_that_leads_to_no_idle_time_loses_nothing() -> None:
    """Blocked for half of the time, and the GPU is never idle."""
    builder = one_batch_ahead(score=2_500)
    result = run(COPIES, builder)
    assert "that loses nothing, as the GPU gets its next work in time" in result.reason
    assert run(RULE, builder).state is State.CLEAR
    assert said(builder).startswith("Compute-bound")


@pytest.mark.parametrize("wait", [True, False])
def test_host_code_before_any_copy_is_not_told_to_look_later(wait: bool) -> None:
    """2.5 ms of the program's own code in each step: after a copy that waits 5.7 ms, or with no copy at all."""
    builder = evaluation(score=2_500)
    if not wait:
        builder.events[:] = [
            event for event in builder.events if "emcpy" not in event["name"] and event["name"] != "aten::copy_"
        ]
    found = judged(RULE, builder).finding
    assert any("score(before[1])" in fix.code for fix in found.fix) is wait
    assert ("the host stood in the copies" in found.why) is wait
    assert ("read values off the GPU" in said(builder)) is wait


def saving(*, size: int, behind: bool) -> Clocked:
    """Twenty tensors are copied to the host, in front of the backward pass or behind the update, and the host works on them."""
    world = Clocked()
    for _ in world.steps(5):
        world.load(60, workers=4)
        layers(world, 6)
        if behind:
            layers_back(world, 6)
            update(world)
        for _ in range(20):
            world.copied("DtoH", size)
        world.idle(40_000)
        if not behind:
            layers_back(world, 6)
            update(world)
    return world


@pytest.mark.parametrize(
    ("size", "behind", "saves"), [(8 << 20, True, True), (8 << 20, False, False), (64, True, False)]
)
def test_whole_tensors_copied_behind_the_update_are_no_values_to_keep_on_the_device(
    size: int, behind: bool, *, saves: bool
) -> None:
    codes = [fix.code for fix in judged(RULE, saving(size=size, behind=behind)).finding.fix]
    # In front of the backward pass nothing is advised but to look: no program saves or prepares there.
    assert (BEHIND_PASSES.code in codes, BETWEEN_KERNELS.code in codes) == (saves, not saves and behind)
