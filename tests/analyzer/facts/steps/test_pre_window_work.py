"""A host that runs ahead: the recording begins with what the step before it launched."""

from __future__ import annotations

import time

import numpy as np
import pandas as pd
import pytest

from analyzer.facts import Facts
from analyzer.facts.steps.pre_window_work import left_over
from analyzer.views.operators import Operators
from building.builders import TraceBuilder

STEP = 20_000


def world(*, left: float = 28_000, gap: float = 2, begins: float = 100, linked: bool = False) -> TraceBuilder:
    """Three steps of 20 ms on the device, for which the host takes 10 ms each; before them `left` us of the step before.

    Args:
        left: How long what was left over takes; the device's own work begins `gap` us later.
        gap: Idle time of the device between.
        begins: When what was left over begins, after the first mark.
        linked: Whether its launches are in the trace, before the first mark.
    """
    builder = TraceBuilder()
    origin = 50_000.0
    for index in range(10):
        start, dur = origin + begins + index * left / 10, left / 10 - 1
        if linked:
            builder.launch(index * 10, kernel_start=start, kernel_dur=dur)
        else:
            builder.kernel("gemm", start, dur, correlation=90_000 + index)
    device = origin + begins + left + gap
    for number in range(3):
        at = origin + number * 10_000
        builder.step(number, at, 10_000)
        for index in range(10):
            builder.op("aten::item", at + index * 900, 5)
            start = device + number * STEP + index * STEP / 10
            builder.launch(at + index * 900 + 10, kernel_start=start, kernel_dur=STEP / 10 - 1)
    return builder


@pytest.mark.parametrize("linked", [False, True])
def test_every_step_lasts_as_long_as_its_own_work(linked: bool) -> None:
    facts = Facts(world(linked=linked).trace())
    frame = facts.steps.frame
    assert frame["dur_ns"].tolist() == pytest.approx([STEP * 1_000] * 3, rel=0.001)
    assert facts.steps.ratio(facts.time.waterfall.owned("compute").total_ns) > 0.99
    assert facts.steps.count == 3


def test_what_the_host_does_for_the_steps_is_counted_where_it_does_it() -> None:
    facts = Facts(world().trace())
    ops = facts.trace.ops
    assert facts.steps.window.contains(ops["start_ns"].to_numpy()).sum() < len(ops) / 2
    assert facts.steps.host_window.contains(ops["start_ns"].to_numpy()).all()
    assert len(facts.time.launched) == 30
    items = next(row for row in Operators(facts).rows("op") if row.name == "aten::item")
    assert items.calls == 10


def test_kernels_without_a_launch_are_no_defect_there() -> None:
    assert not any(symptom.code == "PG007" for symptom in Facts(world().trace()).health.symptoms)


@pytest.mark.parametrize(
    "changed", [{"gap": 110}, {"begins": 110}], ids=["the device waits for the host", "the device was idle before"]
)
def test_what_does_not_lead_to_the_steps_is_left_in_them(changed: dict[str, float]) -> None:
    facts = Facts(world(**changed).trace())  # type: ignore[arg-type]
    assert facts.steps.frame["start_ns"].min() == facts.steps.frame["host_start_ns"].min()


def test_other_streams_may_outlast_the_whole_step() -> None:
    builder = world()
    builder.kernel("endless", 50_150, 200_000, stream=9)
    assert extent_of_first(builder) == extent_of_first(world(gap=2_000))


def extent_of_first(builder: TraceBuilder) -> int:
    """Start of the first step, from its mark."""
    frame = Facts(builder.trace()).steps.frame
    return int(frame["start_ns"].iloc[0] - frame["host_start_ns"].iloc[0])


def behind(*, waited: float = 8_000, host: float = 500, marked: bool = True) -> TraceBuilder:
    """Three steps that the host launches in 1 ms each; the first kernel starts `waited` us after its launch returned.

    Args:
        waited: Meanwhile the device does nothing that the recording holds.
        host: How long the host takes before its first launch.
        marked: Whether the steps are marked.
    """
    builder = TraceBuilder()
    device = host + 5 + waited
    for number in range(3):
        at = number * 1_000
        if marked:
            builder.step(number, at, 1_000)
        builder.op("aten::empty", at, host)
        for index in range(4):
            start = device + number * 4_000 + index * 1_000
            builder.launch(at + host + index * 10, kernel_start=start, kernel_dur=990)
    return builder


@pytest.mark.parametrize("marked", [True, False])
def test_what_was_launched_before_the_recording_and_is_not_in_it_is_no_steps(marked: bool) -> None:
    facts = Facts(behind(marked=marked).trace())
    assert facts.steps.frame["start_ns"].iloc[0] == facts.trace.kernels["start_ns"].min() == 8_505_000
    assert facts.steps.backlog_ns == 8_505_000
    assert facts.time.waterfall.owned("device_wait").total_ns == 11 * 10_000
    assert sum(owned.total_ns for owned in facts.time.waterfall.owners.values()) == facts.steps.total_ns
    (told,) = [symptom for symptom in facts.health.symptoms if "launched before the recording" in symptom.message]
    assert "first 8.5 ms" in told.message


@pytest.mark.parametrize(
    ("made", "why"),
    [
        ({"waited": 90}, "a queue starts what is next sooner"),
        ({"waited": 400}, "the host took longer: the device may have waited for it"),
    ],
)
@pytest.mark.parametrize("marked", [True, False])
def test_a_first_kernel_that_starts_soon_has_no_backlog_before_it(
    made: dict[str, float], why: str, marked: bool
) -> None:
    facts = Facts(behind(**made, marked=marked).trace())
    assert facts.steps.backlog_ns == 0, why
    assert facts.steps.frame["start_ns"].iloc[0] == 0
    assert not [symptom for symptom in facts.health.symptoms if "launched before the recording" in symptom.message]


@pytest.mark.parametrize(("later", "backlog_us"), [(3_900, 8_505), (4_100, 0)])
def test_where_work_waits_as_long_later_on_the_first_wait_is_a_habit(later: float, backlog_us: float) -> None:
    builder = behind()
    for event in builder.events:
        if event["cat"] == "kernel" and event["ts"] > 15_000:
            event["ts"] += later
    assert Facts(builder.trace()).steps.backlog_ns == backlog_us * 1_000


def test_a_wait_that_begins_later_is_the_steps_own() -> None:
    """The device has worked before: what it waits for then happens in the recording."""
    builder = behind()
    builder.launch(1, kernel_start=8, kernel_dur=10)
    assert Facts(builder.trace()).steps.backlog_ns == 0


def crowd(devices: int) -> pd.DataFrame:
    """One kernel on each device before the first step's launches, one behind."""
    device, start = np.tile(np.arange(devices), 2), np.repeat([0, 50_000], devices)
    launched = np.repeat([-10, 10], devices)
    return pd.DataFrame({"device": device, "start_ns": start, "end_ns": start + 40_000, "launch_start_ns": launched})


def test_each_device_is_asked_by_itself() -> None:
    work = crowd(3)
    # The second device idles for long before its own work, and the third has none of its own.
    work.loc[4, ["start_ns", "end_ns"]] = [900_000, 940_000]
    work.loc[5, "launch_start_ns"] = -10
    assert left_over(work, work, 0).tolist() == [True, False, False, False, False, False]


def test_many_devices_cost_as_many_as_they_are() -> None:
    def cpu_s(devices: int) -> float:
        work = crowd(devices)
        began = time.process_time()
        assert left_over(work, work, 0).sum() == devices
        return time.process_time() - began

    # Four times as many take four times as long, or sixteen times where each looks through the work of all; a clock is coarse.
    once, fourfold = (min(cpu_s(devices) for _ in range(3)) for devices in (5_000, 20_000))
    assert fourfold < 8 * once + 0.02
