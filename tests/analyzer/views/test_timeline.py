"""The drawn step: which one, and lanes whose spans are in order, apart and few."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from analyzer.facts import Facts
from analyzer.views.timeline import MAX_SPANS, DrawnLane, DrawnStep, lanes, representative_step, slowest_step
from building.builders import AUTOGRAD, TraceBuilder


def loop() -> TraceBuilder:
    """Steps of 100, 120 and 140 us: load, copy in, forward, wait, backward on its own thread, optimizer."""
    builder = TraceBuilder()
    at = 0
    for number, dur in enumerate([100, 120, 140], start=2):
        builder.step(number, at, dur)
        builder.loader(at, 20)
        builder.copy("HtoD", at + 20, 5, start=at + 26, dur=4)
        builder.launch(at + 30, kernel_start=at + 40, kernel_dur=10)
        builder.runtime("cudaStreamSynchronize", at + 40, 10)
        builder.op("autograd::engine::evaluate_function: MmBackward0", at + 50, 20, thread=AUTOGRAD)
        builder.launch(at + 55, kernel_start=at + 60, kernel_dur=15, thread=AUTOGRAD)
        builder.optimizer(at + 80, 15)
        builder.launch(at + 82, kernel_start=at + 90, kernel_dur=9)
        at += dur
    return builder


def drawn(builder: TraceBuilder) -> tuple[DrawnStep, tuple[DrawnLane, ...]]:
    facts = Facts(builder.trace())
    step = representative_step(facts)
    assert step is not None
    return step, lanes(facts, step.start_ns, step.end_ns)


def labels(lane: DrawnLane) -> list[tuple[str, str]]:
    return [(span.label, span.cause) for span in lane.spans]


def test_the_step_nearest_the_median_is_drawn() -> None:
    step, _ = drawn(loop())
    assert (step.number, step.start_ns, step.end_ns) == (3, 100_000, 220_000)


def test_of_equals_the_first_is_drawn() -> None:
    builder = TraceBuilder()
    for number in range(4):
        builder.step(number, number * 100, 100)
        builder.launch(number * 100, kernel_start=number * 100 + 10, kernel_dur=50)
    assert drawn(builder)[0].number == 0


def test_a_span_says_how_much_of_it_the_device_works() -> None:
    # Gaps of a hundredth of the drawn step's width cannot be seen: 100 kernels are one span, and busy for a third of it.
    builder = TraceBuilder().step(0, 0, 10_000)
    for number in range(100):
        builder.launch(number * 15, kernel_start=50 + number * 15, kernel_dur=5)
    _, (_, device) = drawn(builder)
    (span,) = device.spans
    assert (span.start_ns, span.busy_ns) == (50_000, 500_000)
    assert span.end_ns - span.start_ns >= 1_490_000


def test_no_step_to_draw() -> None:
    facts = Facts(TraceBuilder().step(0, 0, 0).trace())
    assert representative_step(facts) is None


def test_lanes_of_a_usual_step() -> None:
    _, (host, device) = drawn(loop())
    assert (host.name, host.kind, device.name, device.kind) == ("CPU", "host", "GPU", "device")
    assert labels(host) == [
        ("next(loader)", "input"),
        ("copy in", "transfer_call"),
        ("forward", "framework"),
        ("wait", "sync"),
        ("backward", "framework"),
        ("optimizer", "optimizer"),
    ]
    assert labels(device) == [("copy", "copy"), ("fwd", "compute"), ("bwd", "compute"), ("opt", "compute")]
    first = host.spans[0]
    assert (first.start_ns, first.end_ns) == (0, 20_000 + 240)


def test_devices_are_numbered_where_there_are_several() -> None:
    builder = loop()
    builder.launch(130, kernel_start=140, kernel_dur=5, device=1)
    _, found = drawn(builder)
    assert [lane.name for lane in found] == ["CPU", "GPU 0", "GPU 1"]


def test_a_cpu_only_step_has_one_lane() -> None:
    builder = TraceBuilder(None).step(0, 0, 100)
    builder.op("aten::mm", 10, 50)
    _, found = drawn(builder)
    assert [(lane.name, labels(lane)) for lane in found] == [("CPU", [("forward", "framework")])]


def test_thousands_of_kernels_become_few_spans() -> None:
    builder = TraceBuilder().step(0, 0, 1_000_000)
    for index in range(1_500):
        # Gaps wider than what is merged, and every other one shorter than what is kept.
        builder.launch(index * 600, kernel_start=index * 600 + 10, kernel_dur=580 if index % 7 else 20, call_dur=5)
        builder.annotation("Optimizer.step#Adam.step", index * 600, 300)
    _, found = drawn(builder)
    assert found
    assert all(0 < len(lane.spans) <= MAX_SPANS for lane in found)


def test_the_slowest_step_is_drawn_only_where_it_stands_out() -> None:
    slowest = slowest_step(Facts(loop().trace()))
    assert slowest is not None
    assert (slowest.number, slowest.end_ns - slowest.start_ns) == (4, 140_000)
    even = TraceBuilder()
    for number in range(3):
        even.step(number, number * 100, 100)
        even.launch(number * 100 + 5, kernel_start=number * 100 + 10, kernel_dur=50)
    assert slowest_step(Facts(even.trace())) is None


@pytest.mark.slow
@given(st.lists(st.tuples(st.integers(0, 900), st.integers(0, 300), st.sampled_from("olswk")), max_size=20))
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_spans_are_in_order_apart_and_inside(events: list[tuple[int, int, str]]) -> None:
    builder = TraceBuilder().step(0, 0, 1_000)
    builder.op("aten::relu", 0, 1)
    for start, dur, kind in events:
        if kind == "o":
            builder.op("aten::add", start, dur)
        elif kind == "l":
            builder.loader(start, dur)
        elif kind == "s":
            builder.optimizer(start, dur)
        elif kind == "w":
            builder.runtime("cudaStreamSynchronize", start, dur)
        else:
            builder.launch(start, kernel_start=start + 10, kernel_dur=dur)
    step, found = drawn(builder)
    for lane in found:
        reached = 0
        for span in lane.spans:
            assert reached <= span.start_ns < span.end_ns <= step.end_ns - step.start_ns
            reached = span.end_ns
