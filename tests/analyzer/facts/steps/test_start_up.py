"""Start-up work against habits, by what each step does."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from analyzer.cause_names import CAUSES
from analyzer.facts import Facts
from analyzer.verdict import judgement_of
from building.builders import TraceBuilder

STEP = 10_000
COMPUTE = 5_000


def allocating(
    spent: Sequence[float], *, marked: bool = True, gives_back: bool = True, longer: bool = True
) -> TraceBuilder:
    """A step per number, whose allocator calls take so many microseconds; then 5 ms of kernels.

    Args:
        spent: Time of ten calls to allocate, and as many to free where memory is given back, in each step.
        marked: Whether the steps are marked; else only the optimizer tells them apart.
        gives_back: Whether each allocation is freed.
        longer: Whether the calls make their step longer; else all steps take as long as the longest.
    """
    builder = TraceBuilder()
    at = 0.0
    for number, time in enumerate(spent):
        dur = (time if longer else max(spent)) + COMPUTE + 100
        if marked:
            builder.step(number, at, dur)
        each = time / 10 / (2 if gives_back else 1)
        for index in range(10 if time else 0):
            begin = at + index * time / 10
            builder.runtime("cudaMalloc", begin, each)
            if gives_back:
                builder.runtime("cudaFree", begin + each, each)
        builder.launch(at + time, kernel_start=at + time + 10, kernel_dur=COMPUTE)
        builder.optimizer(at + dur - 80, 20)
        at += dur
    return builder


def warming(facts: Facts) -> bool:
    return "PG002" in facts.health.doubted


def bound_by(facts: Facts) -> str:
    return judgement_of(facts, {cause: facts.time.waterfall.owned(cause).total_ns for cause in CAUSES}).verdict.bound_by


@pytest.mark.parametrize("marked", [True, False])
@pytest.mark.parametrize(
    "spent", [[4_000] * 6, [4_000] * 3, [4_000, 0, 4_000, 0, 4_000, 0], [0, 0, 0, 0, 4_000, 3_000]]
)
def test_what_steps_do_again_is_a_habit(spent: list[float], marked: bool) -> None:
    facts = Facts(allocating(spent, marked=marked, longer=False).trace())
    assert facts.steps.marked is marked
    assert facts.steps.count == len(spent)
    assert not warming(facts)


@pytest.mark.parametrize("marked", [True, False])
@pytest.mark.parametrize(
    "spent", [[4_000, 2_000, 0, 0, 0, 0], [9_000, 4_000, 500, 400, 500, 400], [0, 0, 0, 4_000, 0, 0]]
)
def test_what_later_steps_do_not_repeat_is_warm_up(spent: list[float], marked: bool) -> None:
    assert warming(Facts(allocating(spent, marked=marked, longer=False).trace()))


def test_of_a_habit_that_begins_with_more_only_that_step_is_warm_up() -> None:
    facts = Facts(allocating([9_000, 3_000, 3_000, 3_000], longer=False).trace())
    assert facts.health.warmup.time.total_ns == pytest.approx(9_000_000, rel=0.01)
    assert facts.health.warmup.number == 20


@pytest.mark.parametrize(("gives_back", "warms"), [(True, False), (False, True)])
@pytest.mark.parametrize("steps", [1, 2])
def test_with_one_or_two_steps_only_memory_that_is_given_back_is_a_habit(
    steps: int, gives_back: bool, warms: bool
) -> None:
    builder = allocating([8_000 / steps] * steps, gives_back=gives_back)
    # All through the time, not beside the kernels only.
    for index in range(20):
        builder.runtime("cudaMalloc", 8_100 / steps + index * 100, 20)
        if gives_back:
            builder.runtime("cudaFree", 8_130 / steps + index * 100, 20)
    assert warming(Facts(builder.trace())) is warms


@pytest.mark.parametrize("steps", [0, 1])
def test_calls_at_the_start_of_a_recording_are_no_habit_however_many(steps: int) -> None:
    builder = allocating([4_000], marked=bool(steps))
    builder.launch(9_000, kernel_start=9_010, kernel_dur=40_000)
    assert warming(Facts(builder.trace()))


def test_the_first_of_three_steps_is_left_out_where_start_up_calls_explain_it() -> None:
    # A little of it in the second step as well.
    facts = Facts(allocating([30_000, 100, 0]).trace())
    (reason,) = facts.steps.frame["reason"].dropna()
    assert reason == "first step is 6.8 times the median, 30 ms of it in start-up calls (warm-up)"
    assert bound_by(facts) == "compute"


@pytest.mark.parametrize("spent", [[30_000] * 3, [30_000, 28_000, 31_000]])
def test_three_steps_that_all_allocate_are_bound_by_it(spent: list[float]) -> None:
    facts = Facts(allocating(spent).trace())
    assert (facts.steps.count, bound_by(facts)) == (3, "allocator")


def test_a_first_step_of_three_that_is_slow_for_another_reason_stays() -> None:
    builder = TraceBuilder()
    for number, (at, dur) in enumerate([(0, 30_000), (30_000, 10_000), (40_000, 10_000)]):
        builder.step(number, at, dur).launch(at, kernel_start=at + 10, kernel_dur=9_000)
        builder.runtime("cudaMalloc", at + 9_500, 300 if number == 0 else 1)
    assert Facts(builder.trace()).steps.count == 3


def test_warm_up_that_lies_in_no_used_step_is_said_and_doubts_nothing() -> None:
    facts = Facts(allocating([60_000, 0, 0, 0, 0], marked=False).trace())
    assert facts.steps.used["number"].tolist() == [1, 2, 3, 4]
    assert not warming(facts)
    (symptom,) = [one for one in facts.health.symptoms if one.code == "PG002"]
    assert "none of it in the steps that are used" in symptom.message
