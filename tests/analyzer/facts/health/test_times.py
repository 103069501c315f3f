"""PG005, PG008: times that were lost, made up, rounded, or are no microseconds, and the traces beside them that are sound."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from analyzer.facts import Facts
from analyzer.facts.health.symptom import Gravity, Symptom
from building.builders import TraceBuilder

Event = dict[str, Any]


def training(device: str | None = "cuda") -> TraceBuilder:
    """Six steps of 10 ms, of 40 times three ops and a kernel, with times as uneven as recorded ones."""
    builder = TraceBuilder(device)
    for number in range(6):
        at = number * 10_000.0
        builder.step(number, at, 10_000)
        for index in range(40):
            start = at + 3.217 + index * 240.431
            builder.op("aten::linear", start, 90.113 + number + index / 10)
            builder.op("aten::t", start + 1.119, 6.731)
            builder.op("aten::as_strided", start + 1.312, 3.001 + index / 100)
            if device:
                builder.launch(
                    start + 10.007,
                    kernel_start=start + 30.013,
                    kernel_dur=150.119 + number,
                    call_dur=5.017 + index / 1000,
                    op=None,
                )
    return builder


def changed(
    change: Callable[[Event], object], *, categories: tuple[str, ...] = (), device: str | None = "cuda"
) -> list[Symptom]:
    """The symptoms after a change of all events, or those of some categories."""
    builder = training(device)
    for event in builder.events:
        if not categories or event["cat"] in categories:
            change(event)
    return [one for one in Facts(builder.trace()).health.symptoms if one.code in ("PG005", "PG008")]


def scaled(by: float, *keys: str) -> Callable[[Event], object]:
    return lambda event: event.update({key: event[key] * by for key in keys})


def rounded(to: float) -> Callable[[Event], object]:
    return lambda event: event.update(ts=round(event["ts"] / to) * to)


@pytest.mark.parametrize("device", ["cuda", None])
def test_a_sound_trace_has_none(device: str | None) -> None:
    assert changed(lambda event: None, device=device) == []


# What the clock tells apart


def test_whole_microseconds_are_what_the_format_counts_in() -> None:
    assert changed(rounded(1)) == []


@pytest.mark.parametrize("device", ["cuda", None])
@pytest.mark.parametrize(("to", "gravity"), [(4, Gravity.CAUTION), (1_000, Gravity.UNUSABLE), (1e6, Gravity.UNUSABLE)])
def test_rounded_starts(device: str | None, to: float, gravity: Gravity) -> None:
    found = [one for one in changed(rounded(to), device=device) if "rounded" in one.message]
    assert [one.gravity for one in found] == [gravity]


def test_starts_that_are_all_one() -> None:
    (found,) = [one for one in changed(rounded(1e9)) if "rounded" in one.message]
    assert found.gravity is Gravity.UNUSABLE
    assert "rounded:" in found.message


def test_a_coarse_grid_on_which_nothing_falls_together_is_chance() -> None:
    builder = TraceBuilder()
    for index in range(120):
        builder.launch(index * 500, kernel_start=index * 500 + 100, kernel_dur=200)
    assert not [one for one in Facts(builder.trace()).health.symptoms if "rounded" in one.message]


# Units


@pytest.mark.parametrize("device", ["cuda", None])
def test_milliseconds_taken_for_microseconds(device: str | None) -> None:
    found = changed(scaled(1e-3, "ts", "dur"), device=device)
    assert found[0].gravity is Gravity.UNUSABLE
    assert "another unit" in found[0].message


def test_kernels_alone_that_are_too_short() -> None:
    (found,) = changed(scaled(1e-3, "dur"), categories=("kernel",))
    assert found.gravity is Gravity.UNUSABLE
    assert "Half of 240 kernels take 152 ns or less" in found.message


def every(number: int, **values: Any) -> Callable[[Event], object]:
    """Changes one event in so many."""
    seen: list[Event] = []

    def change(event: Event) -> None:
        seen.append(event)
        if len(seen) % number == 0:
            event |= values

    return change


def test_kernels_that_take_nothing_say_nothing_of_the_others() -> None:
    assert changed(every(2, dur=0), categories=("kernel",)) == []


def test_nanoseconds_taken_for_microseconds() -> None:
    (found,) = [one for one in changed(scaled(1e3, "ts", "dur")) if "launch calls" in one.message]
    assert found.gravity is Gravity.CAUTION


@pytest.mark.parametrize(("scale", "op_us", "said"), [(1e3, 3.0, True), (1, 3.0, False), (1e3, 0.02, False)])
def test_one_pass_with_few_launches_is_in_nanoseconds_where_no_op_is_short_either(
    scale: float, op_us: float, *, said: bool
) -> None:
    """With a few ops that are short, the launches may each have waited for their kernel."""
    builder = TraceBuilder()
    for index in range(8):
        start = index * 400.0 * scale
        for op in range(4):
            builder.op("aten::t", start + op * 10 * scale, (op_us + op) * scale)
        builder.launch(
            start + 50 * scale, kernel_start=start + 60 * scale, kernel_dur=300 * scale, call_dur=5 * scale, op=None
        )
    found = [one for one in Facts(builder.trace()).health.symptoms if "launch calls" in one.message]
    assert bool(found) is said


# Durations that are not there


@pytest.mark.parametrize(
    ("category", "what", "device"), [("kernel", "240 kernels", "cuda"), ("cpu_op", "720 ops", None)]
)
def test_no_durations(category: str, what: str, device: str | None) -> None:
    found = changed(lambda event: event.update(dur=0), categories=(category,), device=device)
    assert found[0].gravity is Gravity.UNUSABLE
    assert found[0].message.startswith(f"None of {what} has a duration")


@pytest.mark.parametrize(("number", "unusable"), [(5, True), (20, False)])
@pytest.mark.parametrize("category", ["kernel", "cpu_op", "cuda_runtime"])
def test_durations_that_were_made_up(category: str, number: int, unusable: bool) -> None:
    found = changed(every(number, dur=-1), categories=(category,))
    assert any("have no end" in one.message and one.gravity is Gravity.UNUSABLE for one in found) is unusable


# One stream, one thing at a time


@pytest.mark.parametrize(("times", "gravity"), [(1.5, None), (10, Gravity.UNUSABLE), (1000, Gravity.UNUSABLE)])
def test_kernels_of_a_stream_take_longer_than_passes(times: float, gravity: Gravity | None) -> None:
    found = [
        one for one in changed(scaled(times, "dur"), categories=("kernel",)) if "durations are wrong" in one.message
    ]
    assert [one.gravity for one in found] == ([gravity] if gravity else [])


# Two clocks


@pytest.mark.parametrize(("by_us", "gravity"), [(-500, Gravity.CAUTION), (-2_000, Gravity.UNUSABLE)])
def test_a_device_that_is_ahead(by_us: float, gravity: Gravity) -> None:
    found = changed(lambda event: event.update(ts=event["ts"] + by_us), categories=("kernel",))
    assert [one.gravity for one in found if "before their launch" in one.message] == [gravity]


@pytest.mark.parametrize(
    ("by_us", "late", "gravity"),
    [(1_000, 240, Gravity.CAUTION), (20_000, 240, Gravity.UNUSABLE), (20_000, 1, Gravity.CAUTION)],
)
def test_a_device_that_is_behind_a_call_that_waited_for_it(by_us: float, late: int, gravity: Gravity) -> None:
    builder = training()
    for event in [event for event in builder.events if event["cat"] == "kernel"][-late:]:
        event["ts"] += by_us
    builder.runtime("cudaDeviceSynchronize", 59_700, 100)
    found = [one for one in Facts(builder.trace()).health.symptoms if "that waited for its end" in one.message]
    assert [one.gravity for one in found] == [gravity]


def test_a_trace_whose_every_time_is_absurd_was_not_cleared() -> None:
    """Its events are there: to export them earlier, as was advised, gives the same ones."""
    builder = training()
    for event in builder.events:
        if event.get("ph") == "X":
            event["dur"] = -event["dur"] - 1
    (symptom,) = (one for one in Facts(builder.trace()).health.symptoms if one.code == "PG005")
    assert symptom.gravity is Gravity.UNUSABLE
    # Of 240 times three ops and a kernel.
    assert "neither ops nor device work whose times can be: 960 events" in symptom.message
    assert "export" not in symptom.message + symptom.fix
    (empty,) = (one for one in Facts(TraceBuilder(None).step(0, 0, 100).trace()).health.symptoms if one.code == "PG005")
    assert "the loop ended as it began to record" in empty.message
