"""XF003: 20 copies of 8 bytes to the device in each 10 ms step, 100 us a call."""

from __future__ import annotations

import pytest

from analyzer.finding import State
from builders import TraceBuilder
from rules.transfer.many_small_copies import RULE
from worlds import judged, run


def world(*, copies: int = 20, call: float = 100, size: int = 8, direction: str = "HtoD") -> TraceBuilder:
    """Three steps: the copies one after another, the device idle meanwhile, then a kernel."""
    builder = TraceBuilder()
    for number in range(3):
        at = number * 10_000
        builder.step(number, at, 10_000)
        for index in range(copies):
            begin = at + index * call
            builder.copy(direction, begin, call, start=begin + call - 2, dur=1, size=size)
        end = at + copies * call
        builder.launch(end, kernel_start=end + 10, kernel_dur=at + 10_000 - end - 10)
    return builder


def test_fires_with_the_idle_part_of_the_calls() -> None:
    found = judged(RULE, world())
    # 20 calls of 100 us less 1 us of copying each.
    assert found.ns_per_step == pytest.approx(20 * 99_000, rel=0.02)
    assert found.finding.why == (
        "20 copies a step between host and device, 8 B in the median: 20 small ones to the device hold the host for 2.0 ms "
        "of each 10 ms step (20 %)."
    )


@pytest.mark.parametrize(("copies", "state"), [(19, State.CLEAR), (20, State.FIRED)])
def test_boundary_of_the_number(copies: int, state: State) -> None:
    assert run(RULE, world(copies=copies)).state is state


@pytest.mark.parametrize(("size", "state"), [(65_000, State.FIRED), (66_000, State.CLEAR)])
def test_boundary_of_the_size(size: int, state: State) -> None:
    assert run(RULE, world(size=size)).state is state


@pytest.mark.parametrize(("call", "state"), [(9, State.CLEAR), (11, State.FIRED)])
def test_boundary_of_the_host_time(call: float, state: State) -> None:
    assert run(RULE, world(call=call)).state is state


def test_reads_from_the_device_belong_to_another_rule() -> None:
    assert run(RULE, world(direction="DtoH")).state is State.CLEAR


def test_copies_within_the_device_do_not_count() -> None:
    assert run(RULE, world(direction="DtoD")).state is State.NOT_APPLICABLE


def test_not_applicable_without_a_device() -> None:
    builder = TraceBuilder(None)
    builder.step(0, 0, 1_000).op("aten::linear", 0, 900)
    assert run(RULE, builder).state is State.NOT_APPLICABLE
