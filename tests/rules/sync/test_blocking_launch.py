"""SY005: CUDA_LAUNCH_BLOCKING=1, so that each launch returns only after its kernel."""

from __future__ import annotations

import pytest

from analyzer.finding import Confidence, Severity, State
from building.builders import TraceBuilder
from rules.sync.blocking_launch import RULE
from running.one_rule import judged, run

STEP = 10_000
LAUNCHES = 10


def world(*, blocking: int = LAUNCHES, launches: int = LAUNCHES, device: str = "cuda", skew: float = 0) -> TraceBuilder:
    """Steps of 10 ms with launches every 1 ms; a blocking call lasts 600 us around a kernel of 500 us."""
    builder = TraceBuilder(device)
    for number in range(3):
        at = number * STEP
        builder.step(number, at, STEP)
        for index in range(launches):
            start = at + index * 1_000
            call = 600 if index < blocking else 10
            kernel = start - skew if skew else start + 50
            builder.launch(start, kernel_start=kernel, kernel_dur=500, call_dur=call)
    return builder


def test_fires_with_the_idle_time_inside_launches() -> None:
    found = judged(RULE, world())
    # Of each call 50 us before its kernel and 50 us after it; the time between calls belongs to others.
    assert found.finding.saving.claims.total_ns == 3 * LAUNCHES * 100_000
    assert found.confidence is Confidence.HIGH
    assert found.severity is Severity.MEDIUM
    assert "100 % of 30 launches" in found.finding.why
    assert "CUDA_LAUNCH_BLOCKING" in found.finding.fix[0].code


def test_on_rocm_it_names_its_variables() -> None:
    assert "HIP_LAUNCH_BLOCKING" in judged(RULE, world(device="rocm")).finding.fix[0].code


def test_quiet_where_launches_return_at_once() -> None:
    assert run(RULE, world(blocking=0)).state is State.CLEAR


@pytest.mark.parametrize(("blocking", "state"), [(4, State.CLEAR), (5, State.FIRED)])
def test_boundary(blocking: int, state: State) -> None:
    assert run(RULE, world(blocking=blocking)).state is state


@pytest.mark.parametrize(("skew", "state"), [(20, State.FIRED), (700, State.CANNOT_TELL)])
def test_clocks_that_differ_by_much_beside_the_gaps_are_no_evidence(skew: float, state: State) -> None:
    assert run(RULE, world(skew=skew)).state is state


def test_few_launches_say_nothing() -> None:
    assert run(RULE, world(launches=6, blocking=6)).state is State.CANNOT_TELL


def test_without_a_device_the_question_does_not_arise() -> None:
    builder = TraceBuilder(None)
    builder.step(0, 0, STEP)
    builder.op("aten::linear", 0, STEP)
    assert run(RULE, builder).state is State.NOT_APPLICABLE
