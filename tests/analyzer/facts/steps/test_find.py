"""Steps: device-aware ends, what is left out and why, `--steps`, and traces without marks."""

from __future__ import annotations

import pytest

from analyzer.facts import Facts
from analyzer.facts.steps.find import Steps
from building.builders import AUTOGRAD, TraceBuilder


def steps(builder: TraceBuilder, selected: tuple[int, int] | None = None) -> Steps:
    return Facts(builder.trace(), selected).steps


def extents(found: Steps) -> list[tuple[int, int]]:
    """(start, end) of each step in microseconds."""
    frame = found.frame
    return [(s // 1_000, e // 1_000) for s, e in zip(frame["start_ns"], frame["end_ns"], strict=True)]


def world(durations: list[float], *, launches: int = 5) -> TraceBuilder:
    """Steps one after the other, numbered from 3, each with some launches."""
    builder = TraceBuilder()
    at = 0.0
    for number, dur in enumerate(durations, start=3):
        builder.step(number, at, dur)
        for index in range(launches):
            builder.launch(at + 1 + index * 10, kernel_start=at + 8 + index * 10, kernel_dur=5)
        at += dur
    return builder


def test_the_gap_between_marks_belongs_to_the_earlier_step() -> None:
    builder = TraceBuilder().step(0, 0, 80).step(1, 100, 80)
    builder.launch(10, kernel_start=20, kernel_dur=5)
    builder.launch(110, kernel_start=120, kernel_dur=5)
    assert extents(steps(builder)) == [(0, 100), (100, 180)]


def test_a_step_ends_when_its_last_kernel_does() -> None:
    builder = TraceBuilder().step(0, 0, 100).step(1, 100, 100)
    builder.launch(10, kernel_start=20, kernel_dur=130)
    builder.launch(110, kernel_start=150, kernel_dur=30)
    found = steps(builder)
    assert extents(found) == [(0, 150), (150, 200)]
    assert found.frame["dur_ns"].tolist() == [150_000, 50_000]
    # The raw window knows nothing of kernels.
    assert found.raw_window.pairs() == [(0, 200_000)]


def test_a_kernel_launched_before_the_first_step_extends_none_and_the_first_begins_behind_it() -> None:
    builder = TraceBuilder()
    builder.launch(0, kernel_start=10, kernel_dur=500)
    builder.step(0, 100, 100)
    builder.launch(110, kernel_start=520, kernel_dur=30)
    builder.step(1, 200, 100)
    builder.launch(210, kernel_start=560, kernel_dur=30)
    assert extents(steps(builder)) == [(510, 550), (550, 590)]


def test_steps_touch_and_cover_the_window() -> None:
    found = steps(world([100, 100, 100]))
    assert found.window.total_ns == int(found.used["dur_ns"].sum())


def test_a_cut_off_last_step_is_left_out() -> None:
    builder = world([100, 100])
    builder.step(5, 200, 100)
    builder.launch(201, kernel_start=210, kernel_dur=5)
    found = steps(builder)
    assert found.used["number"].tolist() == [3, 4]
    assert found.frame["reason"].iloc[-1] == "cut off: 1 device events against 5 in the step before"


@pytest.mark.parametrize(("events", "used"), [(4, 3), (3, 2)])
def test_the_last_step_may_miss_a_fifth_of_the_device_events(events: int, used: int) -> None:
    builder = world([100, 100])
    builder.step(5, 200, 100)
    for index in range(events):
        builder.launch(201 + index * 10, kernel_start=208 + index * 10, kernel_dur=5)
    assert len(steps(builder).used) == used


@pytest.mark.parametrize(("first", "used"), [(119, 4), (125, 3)])
def test_a_slow_first_step_is_warm_up(first: float, used: int) -> None:
    found = steps(world([first, 100, 100, 100]))
    assert len(found.used) == used


def test_a_slow_first_step_stays_where_few_would_remain() -> None:
    assert len(steps(world([200, 100, 100])).used) == 3


def test_an_empty_step_is_left_out() -> None:
    builder = world([100, 100, 100])
    builder.step(6, 300, 100)
    found = steps(builder)
    assert found.used["number"].tolist() == [3, 4, 5]
    assert found.frame["reason"].iloc[-1].startswith("empty")


def test_a_step_with_ops_alone_is_not_empty() -> None:
    builder = TraceBuilder(None).step(0, 0, 100).step(1, 100, 100)
    builder.op("aten::mm", 10, 50)
    builder.op("aten::mm", 110, 50)
    assert len(steps(builder).used) == 2


def test_selected_steps_are_used_even_where_they_would_be_left_out() -> None:
    found = steps(world([200, 100, 100, 100]), (3, 4))
    assert found.used["number"].tolist() == [3, 4]
    assert found.frame["reason"].tolist()[2:] == ["outside --steps"] * 2


def test_only_empty_steps_selected() -> None:
    builder = world([100, 100])
    builder.step(5, 200, 100).step(6, 300, 100)
    builder.launch(310, kernel_start=320, kernel_dur=5)
    # Described rather than refused, but nothing outside the selection is.
    assert steps(builder, (5, 5)).used["number"].tolist() == [5]


def test_without_marks_the_trace_is_one_step() -> None:
    builder = TraceBuilder()
    builder.launch(10, kernel_start=20, kernel_dur=100)
    found = steps(builder)
    assert (found.source, found.marked, found.thread) == ("whole-trace", False, None)
    assert extents(found) == [(0, 110)]


def test_marks_are_the_source_and_name_the_thread() -> None:
    trace = world([100, 100]).trace()
    found = Facts(trace).steps
    assert (found.source, found.marked) == ("ProfilerStep", True)
    assert trace.threads.loc[found.thread, "tid"] == "4242"


def test_steps_that_all_end_where_they_begin_have_no_typical_length() -> None:
    builder = TraceBuilder().step(0, 0, 100)
    for number in range(1, 6):
        builder.step(number, 100, 0)
    builder.op("aten::mm", 10, 200)
    assert not any((reason or "").startswith("first step") for reason in steps(builder).frame["reason"].fillna(""))


def test_a_trace_without_steps_has_one_without_a_reason() -> None:
    frame = Facts(TraceBuilder(None).annotation("x", 0, 10).trace()).steps.frame
    # The word "None", of which pandas 2 makes a text, would be one.
    assert [reason for reason in frame["reason"].tolist() if isinstance(reason, str)] == []
    assert frame["used"].tolist() == [True]


def _bursts(*, rollouts: tuple[int, ...], length: float) -> Steps:
    """Sixteen updates of 5 ms; before some of them an environment is asked in turns, 400 ops of a policy that trains nothing."""
    builder, at = TraceBuilder(), 0.0
    for number in range(16):
        begin = at
        if number in rollouts:
            for index in range(400):
                builder.op("aten::linear", at + index * length / 400, 10)
            at += length
        for index in range(10):
            builder.op("aten::linear", at + index * 100, 50)
            builder.op(
                "autograd::engine::evaluate_function: AddmmBackward0", at + 2_000 + index * 100, 50, thread=AUTOGRAD
            )
            builder.launch(at + 1_000 + index * 20, kernel_start=at + 1_100 + index * 20, kernel_dur=15)
        at += 5_000
        builder.step(number, begin, at - begin)
    return Facts(builder.trace()).steps


def test_what_comes_back_and_takes_most_of_the_time_is_no_other_loop() -> None:
    """Rollouts between bursts of updates are what the program does; one evaluation, or short ones, are not."""
    assert _bursts(rollouts=(2, 6, 10, 14), length=90_000).count == 16
    assert _bursts(rollouts=(8,), length=900_000).count == 15
    assert _bursts(rollouts=(4, 8, 12), length=16_000).count == 13
