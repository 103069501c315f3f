"""Steps and traces that the recording spoilt: each fault is found, and sound traces have none."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from analyzer.engine.trust import grade
from analyzer.facts import Facts
from analyzer.facts.device.replays import graph_replays
from analyzer.facts.health.symptom import Gravity, Symptom
from analyzer.facts.steps.faults import first_spin
from building.builders import TraceBuilder
from programs.generation import prompted

STEP = 1_000
LAUNCHES = 20


def plain(steps: int = 6, *, lose: Callable[[int, int], bool] = lambda step, index: False) -> TraceBuilder:
    """Marked steps of 1 ms with 20 launches each; `lose` says which have no kernel."""
    builder = TraceBuilder()
    for number in range(steps):
        at = number * STEP
        builder.step(number, at, STEP)
        for index in range(LAUNCHES):
            start = at + index * 40
            if lose(number, index):
                builder.op("aten::add", start, 5)
                builder.runtime("cudaLaunchKernel", start, 5)
            else:
                builder.launch(start, kernel_start=start + 8, kernel_dur=30)
    return builder


def replaying(counts: list[int], *, marked: bool = True, head_lost: bool = False) -> TraceBuilder:
    """A step per number: a launch by itself, and a graph launch with so many kernels."""
    builder = TraceBuilder()
    for number, kernels in enumerate(counts):
        at = number * STEP
        if marked:
            builder.step(number, at, STEP)
        builder.launch(at, kernel_start=at + 10, kernel_dur=10, name="input")
        correlation = builder.runtime("cudaGraphLaunch", at + 20, 10)
        names = [f"node{index}" for index in range(40)]
        for index, name in enumerate(names[-kernels:] if head_lost and kernels else names[:kernels]):
            builder.kernel(name, at + 40 + index * 20, 18, correlation=correlation)
    return builder


def reasons(builder: TraceBuilder) -> dict[int, str]:
    frame = Facts(builder.trace()).steps.frame
    left_out = frame[frame["reason"].notna()]
    return dict(zip(left_out["number"].tolist(), left_out["reason"].tolist(), strict=True))


def symptoms(builder: TraceBuilder, code: str) -> list[Symptom]:
    return [symptom for symptom in Facts(builder.trace()).health.symptoms if symptom.code == code]


# Launches against kernels, per step


def test_a_step_that_lost_its_kernels_is_left_out() -> None:
    builder = plain(lose=lambda step, index: step == 2 and index >= 8)
    assert reasons(builder) == {2: "lost kernels: 12 of 20 launches have none"}
    (symptom,) = symptoms(builder, "PG005")
    assert symptom.gravity is Gravity.CAUTION
    assert "step 2" in symptom.message


@pytest.mark.parametrize("share", [0.0, 0.4])
def test_a_step_that_lost_less_than_half_is_used(share: float) -> None:
    assert reasons(plain(lose=lambda step, index: step == 2 and index < share * LAUNCHES)) == {}


def test_where_every_step_lost_more_than_half_nothing_is_believed() -> None:
    builder = plain(lose=lambda step, index: index % 20 >= 9)
    assert reasons(builder) == {}
    (symptom,) = symptoms(builder, "PG005")
    assert symptom.gravity is Gravity.UNUSABLE
    assert "66 of 120 launches (55 %)" in symptom.message


def test_many_spoilt_steps_are_not_all_named() -> None:
    (symptom,) = symptoms(plain(12, lose=lambda step, index: step < 7), "PG005")
    assert "2 more are left out" in symptom.message


def test_an_empty_step_is_left_out_and_named() -> None:
    builder = plain()
    builder.step(6, 6_000, 3)
    builder.step(7, 6_003, STEP)
    builder.launch(6_010, kernel_start=6_020, kernel_dur=900)
    assert reasons(builder)[6].startswith("empty")
    assert any("step 6" in symptom.message for symptom in symptoms(builder, "PG006"))


# Graph launches against their kernels


def test_sound_replays_are_whole() -> None:
    builder = replaying([40] * 6)
    assert reasons(builder) == {}
    assert symptoms(builder, "PG005") == []


@pytest.mark.parametrize(("kernels", "head_lost"), [(0, False), (3, False), (3, True)], ids=["none", "head", "tail"])
def test_a_replay_recorded_in_part_costs_its_step(kernels: int, head_lost: bool) -> None:
    builder = replaying([40, 40, kernels, 40, 40, 40], head_lost=head_lost)
    assert reasons(builder) == {2: f"graph recorded in part: {kernels} of 40 kernels of a replay"}
    (symptom,) = symptoms(builder, "PG005")
    assert symptom.gravity is Gravity.CAUTION


def test_graphs_of_different_sizes_are_whole() -> None:
    assert reasons(replaying([40, 5, 40, 5, 40, 5, 40])) == {}


@pytest.mark.parametrize(
    ("counts", "gravity"),
    [([40] * 20, None), ([40] * 10 + [3] + [40] * 9, Gravity.CAUTION), ([40, 40, 40, 2, 3, 4], Gravity.UNUSABLE)],
)
def test_without_steps_to_leave_out_the_trace_is_doubted(counts: list[int], gravity: Gravity | None) -> None:
    builder = replaying(counts, marked=False)
    facts = Facts(builder.trace(), None)
    found = [symptom for symptom in facts.health.symptoms if symptom.code == "PG005" and "graph" in symptom.message]
    assert [symptom.gravity for symptom in found] == ([gravity] if gravity else [])


def test_graphs_without_any_kernel_are_worthless() -> None:
    (symptom,) = symptoms(replaying([0] * 4), "PG005")
    assert symptom.gravity is Gravity.UNUSABLE


def test_a_trace_without_graphs_has_no_replays() -> None:
    facts = Facts(plain().trace())
    assert len(graph_replays(facts.trace, facts.device.launched)) == 0


# The profilers' start


def spinning(first: float, *, steps: int = 3) -> TraceBuilder:
    builder = TraceBuilder()
    at = 0.0
    for number in range(steps):
        dur = first if number == 0 else 50
        length = STEP + dur
        builder.step(number, at, length)
        builder.launch(at, kernel_start=at + 10, kernel_dur=300)
        for index in range(2):
            spin = dur if index == 0 else 50
            builder.launch(
                at + 20 + index,
                kernel_start=at + 320,
                kernel_dur=spin,
                name="ncclDevKernel_AllReduce_Sum_f32",
                stream=9,
            )
        at += length
    return builder


def test_a_first_collective_that_waits_costs_its_step() -> None:
    builder = spinning(40_000)
    assert reasons(builder) == {0: "profiler start: its first collective waits 40 ms for other ranks"}
    assert any("other ranks" in symptom.message for symptom in symptoms(builder, "PG006"))


def test_a_first_collective_in_the_only_step_is_told() -> None:
    builder = spinning(40_000, steps=1)
    for index in range(3):
        builder.launch(
            40_400 + index, kernel_start=40_500 + index * 60, kernel_dur=50, name="ncclDevKernel_AllReduce_Sum_f32"
        )
    found = [symptom for symptom in symptoms(builder, "PG002") if "first collective" in symptom.message]
    assert [symptom.gravity for symptom in found] == [Gravity.CAUTION]


def test_collectives_alike_are_no_start() -> None:
    builder = spinning(60)
    assert reasons(builder) == {}
    assert first_spin(builder.trace()) is None


# Ranks merged into one file


def merged(*, same_process: bool) -> TraceBuilder:
    builder, other = plain(), plain()
    for event in other.events:
        event["ts"] += 7
        if not same_process and event["cat"] != "kernel":
            event["pid"] += 1
    builder.events += other.events
    return builder


@pytest.mark.parametrize("same_process", [True, False])
def test_merged_ranks_allow_no_advice(same_process: bool) -> None:
    found = [symptom for symptom in symptoms(merged(same_process=same_process), "PG007")]
    assert [symptom.gravity for symptom in found] == [Gravity.UNUSABLE]
    assert "own file" in found[0].fix
    assert ("2 processes" in found[0].message) is not same_process


def test_merged_ranks_without_a_device() -> None:
    builder = TraceBuilder(None)
    for number in range(30):
        builder.op("aten::mm", number * 100, 90)
        builder.op("aten::mm", number * 100, 90)
        builder.events[-1]["pid"] = 5
    assert symptoms(builder, "PG007")[0].gravity is Gravity.UNUSABLE


@pytest.mark.parametrize("again", [True, False])
def test_two_runs_of_one_process_number_without_a_device_share_the_ids_of_ops(again: bool) -> None:
    """Containers number their processes alike: only the ids tell that the second run is not a later part of the first."""
    builder = TraceBuilder(None)
    for _ in range(30):
        builder.op("aten::mm", len(builder.events) * 100, 90)
    first = builder.events[:]
    for number, event in enumerate(first):
        builder.op("aten::mm", 1_000_000 + number * 100, 90)
        if again:
            builder.events[-1]["args"]["External id"] = event["args"]["External id"]
    found = symptoms(builder, "PG007")
    assert [symptom.gravity for symptom in found] == ([Gravity.UNUSABLE] if again else [])
    assert not again or "30 ops (50 %) repeat the id" in found[0].message


@pytest.mark.parametrize(("launches", "others", "told"), [(12, 12, True), (12, 4, False), (200, 12, False)])
def test_short_recordings_of_two_ranks_are_told_too(launches: int, others: int, *, told: bool) -> None:
    """One step of a small model has a dozen launches: a helper beside a rank has far fewer than it."""
    builder = TraceBuilder()
    for process, number in ((4242, launches), (5000, others)):
        for index in range(number):
            builder.launch(index * 100, kernel_start=index * 100 + 20, kernel_dur=50, device=process % 2)
            for event in builder.events[-3:-1]:
                event["pid"] = process
    assert bool(symptoms(builder, "PG007")) is told


def test_one_process_with_many_threads_is_one_rank() -> None:
    builder = plain()
    for number in range(50):
        builder.op("aten::mm", number * 100, 90, thread=77)
    builder.event("a", "cpu_op", 5, 5, pid=99)
    assert symptoms(builder, "PG007") == []


# Durations that cannot be


def test_a_kernel_of_many_steps_cannot_be() -> None:
    builder = plain()
    builder.events[-1]["dur"] = 5_000
    (symptom,) = symptoms(builder, "PG008")
    assert symptom.gravity is Gravity.CAUTION
    assert "5.0 ms" in symptom.message


def test_a_long_kernel_of_one_step_can_be() -> None:
    builder = plain()
    builder.events[-1]["dur"] = 900
    assert symptoms(builder, "PG008") == []


def test_a_kernel_of_a_pass_that_is_longer_than_most_can_be() -> None:
    """A prompt is read in 60 ms, of which one kernel takes 45; a token takes 3."""
    assert symptoms(prompted(45_000, waits=True), "PG008") == []


def test_a_kernel_can_be_behind_which_what_was_launched_meanwhile_queues() -> None:
    """The host goes on through 15 passes while it runs."""
    assert symptoms(prompted(45_000, waits=False), "PG008") == []


def test_a_kernel_cannot_be_beside_which_its_stream_goes_on() -> None:
    facts = Facts(prompted(45_000, waits=False, queued=False).trace())
    assert [repair.kind for repair in facts.trace.repairs] == ["absurd-duration"]
    assert grade(facts).verdict != "ok"


def test_a_long_step_elsewhere_excuses_no_kernel() -> None:
    builder = prompted(45_000, waits=True)
    last = next(event for event in reversed(builder.events) if event["cat"] == "kernel")
    last["dur"] = 45_000
    (symptom,) = symptoms(builder, "PG008")
    assert symptom.count == 1


@pytest.mark.slow
@settings(max_examples=40, deadline=20_000, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    place=st.integers(0, 6 * LAUNCHES - 1), factor=st.floats(3, 1e15), base=st.sampled_from([0, 1_700_000_000_000_000])
)
def test_the_verdict_is_never_ok_with_an_absurd_kernel(place: int, factor: float, base: int) -> None:
    builder = plain()
    assert grade(Facts(builder.trace())).verdict == "ok"
    for event in builder.events:
        event["ts"] += base
    kernels = [event for event in builder.events if event["cat"] == "kernel"]
    kernels[place]["dur"] = STEP * factor
    facts = Facts(builder.trace())
    assert grade(facts).verdict != "ok"
    parts = facts.time.step_causes
    assert (parts.sum(axis=1).to_numpy() == facts.steps.used["dur_ns"].to_numpy()).all()
