"""First steps that the recording began in the middle of, and last ones that it ended in."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from analyzer.facts import Facts
from building.builders import TraceBuilder

STEP = 10_000


def stepping(launches: Sequence[int], *, device: str | None = "cuda", ops: Sequence[int] | None = None) -> TraceBuilder:
    """Marked steps of 10 ms with so many kernels, and as many ops unless given."""
    builder = TraceBuilder(device)
    for number, kernels in enumerate(launches):
        at = number * STEP
        builder.step(number, at, STEP)
        for index in range(ops[number] if ops else kernels):
            builder.op("aten::add", at + index * 100, 50)
        for index in range(kernels if device else 0):
            builder.launch(at + index * 100, kernel_start=at + index * 100 + 20, kernel_dur=70, op=None)
    return builder


def left_out(builder: TraceBuilder) -> dict[int, str]:
    frame = Facts(builder.trace()).steps.frame
    frame = frame[frame["reason"].notna()]
    return dict(zip(frame["number"].tolist(), frame["reason"].tolist(), strict=True))


@pytest.mark.parametrize("device", ["cuda", None])
def test_a_first_step_without_its_beginning_is_left_out(device: str | None) -> None:
    (found,) = left_out(stepping([30, 60, 58, 60], device=device)).items()
    kernels = (" and 30 device events", " and 58") if device else ("", "")
    assert found == (
        0,
        f"recorded from its middle on, or does less: 30 ops{kernels[0]}, the others at least 58{kernels[1]}",
    )
    facts = Facts(stepping([30, 60, 58, 60], device=device).trace())
    assert any("record later" in (one.fix or "") for one in facts.health.symptoms if one.code == "PG006")


@pytest.mark.parametrize("device", ["cuda", None])
@pytest.mark.parametrize("launches", [[60, 60, 60, 60], [48, 60, 60, 60], [40, 80, 40, 80]])
def test_whole_first_steps_and_the_smaller_of_two_that_take_turns_are_used(
    launches: list[int], device: str | None
) -> None:
    assert left_out(stepping(launches, device=device)) == {}


def test_a_first_step_that_lost_device_work_alone_did_not_begin_late() -> None:
    assert left_out(stepping([30, 60, 60, 60], ops=[60] * 4)) == {}


def test_steps_asked_for_by_number_stay() -> None:
    assert Facts(stepping([30, 60, 60, 60]).trace(), (0, 2)).steps.used["number"].tolist() == [0, 1, 2]


@pytest.mark.parametrize("device", ["cuda", None])
def test_a_last_step_without_its_end_is_left_out(device: str | None) -> None:
    ops = [60, 58, 60, 30]
    (found,) = left_out(stepping(ops, device=device, ops=ops)).items()
    # What a device lacks is told first, as it was before ops were counted.
    reason = (
        "cut off: 30 device events against 60 in the step before"
        if device
        else "cut off, or does less: 30 ops, the others at least 58"
    )
    assert found == (3, reason)
    facts = Facts(stepping(ops, device=device, ops=ops).trace())
    assert any("end the recording" in (one.fix or "") for one in facts.health.symptoms if one.code == "PG006")


@pytest.mark.parametrize("device", ["cuda", None])
@pytest.mark.parametrize("launches", [[60, 60, 60, 48], [80, 40, 80, 40]])
def test_whole_last_steps_and_the_smaller_of_two_that_take_turns_are_used(
    launches: list[int], device: str | None
) -> None:
    assert left_out(stepping(launches, device=device, ops=launches)) == {}


def ending(silent: Sequence[float], *, device: str | None = None) -> TraceBuilder:
    """Steps of the same ops for 5 ms, then silence for so many microseconds, within each mark."""
    builder = TraceBuilder(device)
    at = 0.0
    for number, rest in enumerate(silent):
        builder.step(number, at, 5_000 + rest)
        for index in range(50):
            if device:
                builder.launch(at + index * 100, kernel_start=at + index * 100 + 20, kernel_dur=70)
            else:
                builder.op("aten::add", at + index * 100, 100)
        at += 5_000 + rest
    return builder


@pytest.mark.parametrize("device", ["cuda", None])
def test_a_last_step_whose_mark_goes_on_in_silence_is_left_out(device: str | None) -> None:
    ((number, reason),) = left_out(ending([100, 200, 100, 50_000], device=device)).items()
    assert number == 3
    most = "210 us" if device else "200 us"
    assert reason == f"cut off, or stands still: nothing is recorded of its last 50 ms, of the others' at most {most}"


@pytest.mark.parametrize(
    "silent",
    [
        # As quiet as others: what stands still each time is the program's.
        [100, 50_000, 100, 50_000],
        [50_000, 50_000, 50_000, 52_000],
        # Not by much, or not for longer than another program may have the core.
        [100_000, 200, 100_000, 110_000],
        [100, 200, 100, 9_000],
        # Nothing to hold it against.
        [50_000],
    ],
)
def test_what_others_are_silent_for_too_is_no_end(silent: list[float]) -> None:
    assert left_out(ending(silent)) == {}


def test_what_goes_on_to_the_end_of_the_last_step_is_not_silent() -> None:
    builder = ending([100, 200, 100, 50_000])
    builder.annotation("evaluate", 20_500, 49_900)
    assert left_out(builder) == {}
