"""What launched work waits for: the device is idle, the launch has returned, and the trace may show why."""

from __future__ import annotations

import pytest

from analyzer.cause_names import CAUSES
from analyzer.facts import Facts
from analyzer.facts.time.device_waits import WORDS
from analyzer.verdict import judgement_of
from building.builders import TraceBuilder

STEPS = 4
STEP = 10_000


def world(
    *, wait: float = 4_000, event: bool = False, other: float = 0, call: str = "cudaStreamWaitEvent"
) -> TraceBuilder:
    """Steps of two kernels, both launched at once; the device idles for `wait` us between them.

    Args:
        wait: Between the end of the first and the start of the second.
        event: Whether a call before the second launch makes its stream wait for an event.
        other: How long another device works meanwhile, from the end of the first kernel on.
        call: That call's name.
    """
    builder = TraceBuilder()
    for number in range(STEPS):
        at = number * STEP
        builder.step(number, at, STEP)
        builder.launch(at, kernel_start=at + 8, kernel_dur=1_000)
        if event:
            builder.runtime(call, at + 20, 2)
        builder.launch(at + 30, kernel_start=at + 1_008 + wait, kernel_dur=STEP - 1_008 - wait - 5, stream=8)
        if other:
            builder.launch(at + 40, kernel_start=at + 1_008, kernel_dur=other, device=1)
    return builder


def replayed(*, nodes: int = 100, gap: float = 45) -> TraceBuilder:
    """One graph a step, whose nodes of 50 us come `gap` us after one another."""
    builder = TraceBuilder()
    for number in range(STEPS):
        at = number * STEP
        builder.step(number, at, STEP)
        call = builder.runtime("cudaGraphLaunch", at, 5)
        for index in range(nodes):
            builder.kernel("gemm", at + 10 + index * (50 + gap), 50, correlation=call)
    return builder


def parts(builder: TraceBuilder) -> dict[str, float]:
    """What each part owns of a step, us."""
    facts = Facts(builder.trace())
    waits = facts.time.device_waits
    found = {name: getattr(waits, name).total_ns / facts.steps.count / 1_000 for name in waits.__struct_fields__}
    assert sum(found.values()) == pytest.approx(
        facts.time.waterfall.owned("device_wait").total_ns / facts.steps.count / 1_000
    )
    return {name: us for name, us in found.items() if us}


def test_a_short_wait_is_what_starting_takes_and_what_queued_work_leaves_between() -> None:
    assert parts(world(wait=10)) == pytest.approx({"starting": 3, "in_queue": 10})


@pytest.mark.parametrize(
    ("made", "why"),
    [
        ({}, "unknown"),
        ({"event": True}, "for_event"),
        ({"event": True, "call": "hipStreamWaitEvent"}, "for_event"),
        ({"event": True, "call": "cudaStreamIsCapturing"}, "unknown"),
        ({"other": 3_000}, "for_device"),
        # What one device hands over to another one goes through an event.
        ({"event": True, "other": 3_000}, "for_device"),
        ({"event": True, "other": 1_000}, "for_event"),
        ({"other": 1_000}, "unknown"),
    ],
)
def test_of_a_long_wait_the_trace_may_show_what_it_was_for(made: dict[str, object], why: str) -> None:
    assert parts(world(**made)) == pytest.approx({"starting": 3, why: 4_000})


@pytest.mark.parametrize(("wait", "why"), [(70, "in_queue"), (72, "unknown")])
def test_from_when_on_a_wait_is_long(wait: float, why: str) -> None:
    assert why in parts(world(wait=wait))


def test_gaps_inside_a_graph_are_between_its_nodes_however_long() -> None:
    assert parts(replayed()) == pytest.approx({"starting": 5, "between_nodes": 99 * 45})
    assert parts(replayed(nodes=10, gap=900)) == pytest.approx({"starting": 5, "between_nodes": 9 * 900})


def test_without_a_device_nothing_waits_on_one() -> None:
    builder = TraceBuilder(None)
    builder.step(0, 0, 100).op("aten::add", 0, 50)
    assert not Facts(builder.trace()).time.device_waits.unknown


@pytest.mark.parametrize(
    ("made", "bound", "words"),
    [
        (replayed(), "queue", WORDS["between_nodes"]),
        (world(event=True), "queue", WORDS["for_event"]),
        (world(other=4_000), "queue", WORDS["for_device"]),
        (world(), "unknown", WORDS["unknown"]),
        (world(wait=10), "compute", "model itself"),
    ],
    ids=["graph", "event", "device", "unknown", "none"],
)
def test_waiting_on_the_device_is_never_called_launch_bound(made: TraceBuilder, bound: str, words: str) -> None:
    """Whatever the launch lead says: the host has done its part."""
    facts = Facts(made.trace())
    totals = {cause: facts.time.waterfall.owned(cause).total_ns for cause in CAUSES}
    found = judgement_of(facts, totals).verdict
    assert found.bound_by == bound
    assert words in found.text
    assert "ispatch" not in found.text
