"""Single ops that take milliseconds longer than the same ones in other steps, as where a thread lacks a core."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from analyzer.facts import Facts
from analyzer.job.work import worked
from building.builders import TraceBuilder

STEPS, OPS = 6, 5
US = 1_000


def interrupted_us(longer: Callable[[int, int], float], *, each: float = 500, steps: int = STEPS) -> float | None:
    """What is found where an op of a step takes so many microseconds longer."""
    builder, at = TraceBuilder(None), 0.0
    for step in range(steps):
        begin = at
        for op in range(OPS):
            dur = each * (op + 1) + longer(step, op)
            builder.op("aten::linear", at, dur)
            at += dur + 50
        builder.step(step, begin, at - begin)
    found = worked(Facts(builder.trace())).interrupted_ns
    return None if found is None else found / US


def test_single_ops_that_take_longer_are_counted_by_what_they_take_longer() -> None:
    assert interrupted_us(lambda step, op: 4_000 if (step, op) in ((1, 2), (3, 4)) else 0) == 8_000
    assert interrupted_us(lambda step, op: 0) == 0


@pytest.mark.parametrize(
    "longer",
    [
        lambda step, op: 300,
        # More work in one step, a slower core from one step on, and what is no slice of the scheduler.
        lambda step, op: 2_000 * (op + 1) if step == 2 else 0,
        lambda step, op: 3_000 * (op + 1) if step >= 2 else 0,
        lambda step, op: 400 if (step, op) == (1, 1) else 0,
    ],
)
def test_more_work_in_a_step_interrupts_nothing(longer: Callable[[int, int], float]) -> None:
    assert interrupted_us(longer) == 0


def test_of_two_steps_nobody_knows_what_is_usual() -> None:
    assert interrupted_us(lambda step, op: 4_000 if (step, op) == (1, 2) else 0, steps=2) is None


def test_work_of_a_device_lacks_no_core() -> None:
    builder = TraceBuilder()
    for step in range(4):
        builder.step(step, step * 10_000, 10_000)
        builder.launch(step * 10_000, kernel_start=step * 10_000 + 10, kernel_dur=1_000 * (step + 1), name="gemm")
    assert worked(Facts(builder.trace())).interrupted_ns is None
