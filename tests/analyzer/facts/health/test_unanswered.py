"""PG005 where a call waits for the device while nothing is at work on it: the work is not in the file."""

from __future__ import annotations

import pytest

from analyzer.facts import Facts
from analyzer.facts.health.symptom import Gravity, Symptom
from building.builders import AUTOGRAD, MAIN, TraceBuilder


def world(until: float, *, waiting: float = 6_000, thread: int = MAIN) -> TraceBuilder:
    """Three steps of 10 ms: ops, a kernel from 1 ms on until `until`, a call that waits from 2 ms on for `waiting`, and ops."""
    builder = TraceBuilder()
    for number in range(3):
        at = number * 10_000
        builder.step(number, at, 10_000)
        builder.launch(at, kernel_start=at + 1_000, kernel_dur=until - 1_000, thread=thread)
        builder.runtime("cudaDeviceSynchronize", at + 2_000, waiting, thread=thread)
        builder.op("aten::relu", at + 9_000, 900)
        builder.launch(at + 9_950, kernel_start=at + 9_960, kernel_dur=30)
    return builder


def found(builder: TraceBuilder) -> list[Symptom]:
    return [one for one in Facts(builder.trace()).health.symptoms if "no recorded work runs" in one.message]


def test_the_end_of_a_wait_without_work_is_no_wait_of_the_program() -> None:
    builder = world(until=3_000)
    facts = Facts(builder.trace())
    # From 3 ms to 8 ms the call goes on, for work that is not there.
    assert facts.time.waterfall.owned("unexplained").total_ns == 3 * 5_000_000
    (symptom,) = found(builder)
    assert (symptom.code, symptom.gravity, symptom.count) == ("PG005", Gravity.CAUTION, 3)
    assert symptom.message.startswith("For 5.0 ms of each 10 ms step the host waits in `cudaDeviceSynchronize`")
    # Nor does anything promise that it goes with the call.
    lost = facts.time.waterfall.owned("unexplained")
    assert facts.sync.removable("explicit")
    assert not facts.sync.removable("explicit") & lost


def test_a_wait_for_work_that_is_there_is_the_programs() -> None:
    builder = world(until=7_990)
    assert not Facts(builder.trace()).time.waterfall.owned("unexplained")
    assert not found(builder)


@pytest.mark.parametrize(("late", "lost"), [(900, False), (1_100, True)])
def test_a_driver_may_take_its_time_to_return(late: float, lost: bool) -> None:
    facts = Facts(world(until=8_000 - late).trace())
    assert bool(facts.time.waterfall.owned("unexplained")) is lost


def test_a_thread_beside_the_loop_says_nothing_of_what_the_loop_does() -> None:
    assert not Facts(world(until=3_000, thread=AUTOGRAD).trace()).time.waterfall.owned("unexplained")


def test_work_on_another_device_answers_as_well() -> None:
    builder = world(until=3_000)
    for number in range(3):
        builder.launch(number * 10_000 + 100, kernel_start=number * 10_000 + 2_500, kernel_dur=5_450, device=1)
    assert not found(builder)


def test_without_any_device_work_nothing_is_said() -> None:
    builder = TraceBuilder(None).step(0, 0, 10_000)
    builder.runtime("cudaDeviceSynchronize", 0, 9_000)
    builder.op("aten::relu", 9_000, 900)
    assert not found(builder)
