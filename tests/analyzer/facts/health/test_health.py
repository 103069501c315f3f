"""Profiling hygiene: each code fires on its own symptom and stays quiet on a sound trace."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from analyzer.facts import Facts
from analyzer.facts.health.symptom import Gravity, Symptom
from building.builders import AUTOGRAD, TraceBuilder
from traces.trace import Repair, Trace


def sound(steps: int = 6, launches: int = 20, **top: Any) -> TraceBuilder:
    """Steps of 1 ms, each launch with its op and kernel."""
    builder = TraceBuilder(**top)
    for number in range(steps):
        at = number * 1_000
        builder.step(number, at, 1_000)
        for index in range(launches):
            builder.launch(at + index * 40, kernel_start=at + index * 40 + 8, kernel_dur=30)
    return builder


def found(builder: TraceBuilder) -> dict[str | None, Symptom]:
    return {symptom.code: symptom for symptom in Facts(builder.trace()).health.symptoms}


def test_a_sound_trace_has_no_symptom() -> None:
    assert found(sound()) == {}


def test_the_gravest_comes_first() -> None:
    builder = TraceBuilder()
    builder.launch(0, kernel_start=10, kernel_dur=5)
    for index in range(40):
        builder.runtime("cudaLaunchKernel", 100 + index * 10, 5)
    gravities = [symptom.gravity for symptom in Facts(builder.trace()).health.symptoms]
    assert gravities == sorted(gravities, reverse=True)
    assert gravities[0] is Gravity.UNUSABLE


# The cores were busy with something else


@pytest.mark.parametrize(("ratio", "gravity"), [(0.049, None), (0.051, Gravity.CAUTION), (None, None), ("much", None)])
def test_a_thread_without_a_core(ratio: object, gravity: Gravity | None) -> None:
    symptom = found(sound(advisor={"core_wait_ratio": ratio})).get(None)
    assert (symptom.gravity if symptom else None) is gravity


def test_workers_may_be_what_has_the_cores() -> None:
    symptom = found(sound(advisor={"core_wait_ratio": 0.3}).loader(0, 5, workers=8))[None]
    assert symptom.gravity is Gravity.NOTE
    assert "30 % of the time of the recorded steps" in symptom.message


@pytest.mark.parametrize(("unprofiled_ns", "gravity"), [(310_000, Gravity.NOTE), (290_000, Gravity.CAUTION)])
def test_workers_do_not_take_longer_than_a_step_without_the_profiler(unprofiled_ns: int, gravity: Gravity) -> None:
    # 0.3 ms of each step without a core: workers would have slowed the steps that were timed, too.
    builder = sound(advisor={"core_wait_ratio": 0.3, "unprofiled_step_ns": unprofiled_ns}).loader(0, 5, workers=8)
    symptom = found(builder)[None]
    assert (symptom.gravity, symptom.passes) == (gravity, gravity is Gravity.CAUTION)


# Clocks and durations of which nothing can be made


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize(("away_s", "apart"), [(59, False), (62, True)])
def test_device_work_far_from_all_of_the_host(sign: int, away_s: int, apart: bool) -> None:
    builder = sound()
    for event in builder.events:
        event["ts"] += 1e12 + (sign * away_s * 1e6 if event["cat"] == "kernel" else 0)
    said = [one for one in Facts(builder.trace()).health.symptoms if "clocks have nothing in common" in one.message]
    assert [one.gravity for one in said] == [Gravity.UNUSABLE] * apart


@pytest.mark.parametrize("share", [0.2, 0.6])
def test_kernels_of_which_many_outlast_whole_steps(share: float) -> None:
    builder = sound()
    kernels = [event for event in builder.events if event["cat"] == "kernel"]
    for kernel in kernels[: int(share * len(kernels))]:
        kernel["dur"] = 90_000
    assert found(builder)["PG008"].gravity is Gravity.UNUSABLE


@pytest.mark.parametrize(("lost", "gravity"), [(246, Gravity.CAUTION), (247, Gravity.UNUSABLE)])
def test_a_file_of_which_half_is_lost(lost: int, gravity: Gravity) -> None:
    trace = sound(steps=4, launches=20).trace()
    events = trace.meta.events
    assert events == 244
    repairs = (Repair("lost-event", lost - 3, 5, "lost", 1), Repair("invalid-utf8", 900, 5, "bytes", 1))
    assert symptom_of(msgspec.structs.replace(trace, repairs=repairs)) is gravity


def symptom_of(trace: Trace) -> Gravity:
    return next(one.gravity for one in Facts(trace).health.symptoms if "had to be repaired" in one.message)


# PG001, PG003, PG006: steps


def test_pg001_without_step_marks() -> None:
    builder = TraceBuilder()
    builder.launch(0, kernel_start=10, kernel_dur=50)
    assert found(builder)["PG001"].gravity is Gravity.CAUTION


@pytest.mark.parametrize(("steps", "fires"), [(2, True), (3, False)])
def test_pg003_needs_three_steps(steps: int, fires: bool) -> None:
    assert ("PG003" in found(sound(steps))) is fires


def test_pg003_says_nothing_where_pg001_does() -> None:
    builder = TraceBuilder()
    builder.launch(0, kernel_start=10, kernel_dur=50)
    assert "PG003" not in found(builder)


def test_pg006_a_slow_first_step() -> None:
    builder = TraceBuilder()
    at = 0
    for number, dur in enumerate([3_000, 1_000, 1_000, 1_000, 1_000]):
        builder.step(number, at, dur)
        builder.launch(at, kernel_start=at + 8, kernel_dur=900)
        at += dur
    symptom = found(builder)["PG006"]
    assert symptom.gravity is Gravity.NOTE
    assert symptom.message == "step 0 is left out: first step is 3.0 times the median (warm-up)."


def test_pg006_says_nothing_of_steps_used_after_all() -> None:
    builder = TraceBuilder().step(0, 0, 1_000).step(1, 1_000, 1_000)
    assert "PG006" not in found(builder)


# PG002: warm-up


@pytest.mark.parametrize(
    "name", ["cudaMalloc", "cudaStreamCreateWithPriority", "hipModuleLoadData", "cudaGraphInstantiate"]
)
def test_pg002_start_up_calls_in_a_few_steps(name: str) -> None:
    builder = sound()
    builder.runtime(name, 100, 400)
    symptom = found(builder)["PG002"]
    assert symptom.gravity is Gravity.CAUTION
    # 400 us of six steps of 1 ms.
    assert symptom.ratio == pytest.approx(400 / 6_000, rel=0.01)


def test_pg002_a_habit_is_no_warm_up() -> None:
    builder = sound()
    for number in range(6):
        builder.runtime("cudaMalloc", number * 1_000 + 100, 400)
    assert "PG002" not in found(builder)


@pytest.mark.parametrize(("dur", "fires"), [(250, False), (350, True)])
def test_pg002_from_5_percent_of_the_window(dur: float, fires: bool) -> None:
    builder = sound()
    builder.runtime("cudaFree", 100, dur)
    assert ("PG002" in found(builder)) is fires


def test_pg002_compiling() -> None:
    builder = sound().annotation("CUDAGraphNode.record (dynamo_timed)", 100, 600)
    assert "PG002" in found(builder)


def test_pg002_a_launch_that_loads_its_module() -> None:
    builder = sound(launches=5)
    builder.launch(250, kernel_start=960, kernel_dur=10, call_dur=700)
    assert "PG002" in found(builder)


def test_pg002_a_slow_launch_beside_a_busy_device_waits_for_the_queue() -> None:
    builder = sound(launches=1)
    builder.launch(30, kernel_start=50, kernel_dur=940)
    builder.launch(60, kernel_start=990, kernel_dur=5, call_dur=900)
    assert "PG002" not in found(builder)


# PG004: the profiler slows the host down


def test_pg004_stacks_on_a_busy_host() -> None:
    builder = sound(launches=24)
    assert "PG004" not in found(builder)
    builder.python("train.py(88): step", 0, 900)
    assert "PG004" in found(builder)


def test_pg004_stacks_on_a_quiet_host() -> None:
    assert "PG004" not in found(sound(launches=2).python("train.py(88): step", 0, 900))


@pytest.mark.parametrize(("unprofiled", "fires"), [(700_000, True), (900_000, False), (0, False), ("x", False)])
def test_pg004_a_measured_slowdown(unprofiled: object, fires: bool) -> None:
    assert ("PG004" in found(sound(advisor={"unprofiled_step_ns": unprofiled}))) is fires


def described(view: float, *, kernel: float = 5) -> TraceBuilder:
    """Three steps of 60 views of so many microseconds, each with a launch of 6 behind it."""
    builder = TraceBuilder()
    for number in range(3):
        at = number * 3_000
        builder.step(number, at, 3_000)
        for index in range(60):
            begin = at + index * 50
            builder.op("aten::view", begin, view)
            builder.op("aten::add", begin + 30, 15)
            builder.launch(begin + 32, call_dur=6, kernel_start=begin + 40, kernel_dur=kernel)
    return builder


@pytest.mark.parametrize(
    ("view", "kernel", "fires"), [(20, 5, True), (7, 5, True), (5, 5, False), (1, 5, False), (20, 49, False)]
)
def test_pg004_ops_that_do_nothing_take_longer_than_launches(view: float, kernel: float, fires: bool) -> None:
    symptom = found(described(view, kernel=kernel)).get("PG004")
    assert (symptom is not None) is fires
    assert symptom is None or (
        symptom.touches == ("framework", "launch", "python", "optimizer") and symptom.ratio > 0.1
    )


# PG005: what was not recorded


def test_pg005_nothing_but_marks() -> None:
    symptom = found(TraceBuilder(None).step(0, 0, 100))["PG005"]
    assert symptom.gravity is Gravity.UNUSABLE
    assert "repeat=1" in symptom.fix


def test_pg005_launches_without_any_kernel() -> None:
    builder = TraceBuilder().step(0, 0, 1_000)
    for index in range(20):
        builder.op("aten::add", index * 10, 5)
        builder.runtime("cudaLaunchKernel", index * 10, 5)
    assert found(builder)["PG005"].gravity is Gravity.UNUSABLE


@pytest.mark.parametrize("replayed", [True, False])
def test_pg005_counters_read_kernel_by_kernel_leave_no_times(replayed: bool) -> None:
    """CUPTI's range profiler runs each kernel until all counters are read; without its ranges a unit may be wrong instead."""
    builder = TraceBuilder().step(0, 0, 5_000_000)
    for index in range(80):
        at = index * 50_000
        builder.op("aten::add", at, 45_000)
        builder.runtime("cudaLaunchKernel", at + 10, 40_000)
        if replayed:
            builder.event("k", "cuda_profiler_range", at + 10, 40_000, args={"dram__bytes_read.sum": 4096})
    symptoms = found(builder)
    assert symptoms["PG005"].gravity is Gravity.UNUSABLE
    assert ("hardware counters" in symptoms["PG005"].message) is replayed
    assert ("none was recorded" in symptoms["PG005"].message) is not replayed
    assert ("profiler_metrics" in symptoms["PG005"].fix) is replayed
    assert ("PG008" not in symptoms) is replayed


@pytest.mark.parametrize(("kernels", "fires"), [(0, True), (12, True), (28, False)])
def test_pg005_kernels_lost_but_not_copies(kernels: int, fires: bool) -> None:
    """Kernels are in other buffers of the profiler than copies; whose ids match nothing may be that of any launch."""
    builder = TraceBuilder().step(0, 0, 1_000)
    builder.copy("HtoD", 5, 2, start=8, dur=2)
    for index in range(30):
        builder.op("aten::add", 100 + index * 10, 5)
        builder.runtime("cudaLaunchKernel", 100 + index * 10, 5)
    for index in range(kernels):
        builder.kernel("k", 102 + index * 10, 5, correlation=70_000 + index)
    symptom = found(builder).get("PG005")
    assert (symptom is not None) is fires
    if symptom is not None:
        assert symptom.gravity is Gravity.UNUSABLE
        assert symptom.count == 30 - kernels


def test_pg005_a_device_of_which_nothing_was_recorded() -> None:
    builder = TraceBuilder().step(0, 0, 1_000)
    builder.op("aten::add", 0, 5)
    assert found(builder)["PG005"].gravity is Gravity.CAUTION


def test_pg005_a_cpu_only_trace_lacks_nothing() -> None:
    builder = TraceBuilder(None)
    for number in range(3):
        builder.step(number, number * 100, 100)
        builder.op("aten::mm", number * 100, 90)
    assert found(builder) == {}


def test_pg005_device_work_alone() -> None:
    builder = TraceBuilder()
    for number in range(3):
        builder.step(number, number * 100, 100)
        builder.kernel("k", number * 100, 90)
    assert found(builder)["PG005"].gravity is Gravity.CAUTION


@pytest.mark.parametrize(
    ("lost", "gravity"), [(1, None), (3, Gravity.CAUTION), (20, Gravity.UNUSABLE)], ids=["few", "some", "half"]
)
def test_pg005_lost_kernels(lost: int, gravity: Gravity | None) -> None:
    builder = sound(steps=1, launches=20)
    for index in range(lost):
        builder.runtime("cudaLaunchKernel", 820 + index, 1)
    symptom = found(builder).get("PG005")
    assert (symptom.gravity if symptom else None) is gravity


def test_pg005_launches_outside_the_used_steps_do_not_count() -> None:
    builder = sound(launches=20)
    for index in range(200):
        builder.runtime("cudaLaunchKernel", 10_000 + index * 2, 1)
    assert "PG005" not in found(builder)


# PG007: ids


def test_pg007_external_ids_that_repeat_the_correlation() -> None:
    builder = TraceBuilder()
    for number in range(3):
        builder.step(number, number * 1_000, 1_000)
        for index in range(20):
            at = number * 1_000 + index * 40
            builder.op("aten::add", at, 5)
            correlation = builder.runtime("cudaLaunchKernel", at, 5)
            builder.kernel("k", at + 10, 20, correlation=correlation, **{"External id": correlation})
    assert found(builder)["PG007"].gravity is Gravity.NOTE


@pytest.mark.parametrize(("orphans", "fires"), [(25, False), (35, True)])
def test_pg007_kernels_without_a_launch(orphans: int, fires: bool) -> None:
    builder = sound(launches=20)
    for index in range(orphans):
        builder.kernel("k", 5_800 + index, 1, stream=9)
    assert ("PG007" in found(builder)) is fires


# PG008: traces of the profiler


@pytest.mark.parametrize(("late", "fires"), [(0, False), (10, False), (11, True), (700, True)])
@pytest.mark.parametrize("call", ["cudaDeviceSynchronize", "hipDeviceSynchronize"])
def test_pg008_work_that_ends_after_a_wait_for_it(late: float, fires: bool, call: str) -> None:
    """The device's clock is behind by some microseconds; nothing else shows it."""
    builder = sound(launches=10)
    builder.launch(2_900, kernel_start=2_910, kernel_dur=20)
    builder.runtime(call, 2_906, 24)
    for event in builder.events:
        if event["cat"] == "kernel":
            event["ts"] += late
    assert ("PG008" in found(builder)) is fires


def test_pg008_a_wait_says_nothing_of_what_is_launched_later_or_on_another_device() -> None:
    builder = sound(launches=10)
    builder.runtime("cudaDeviceSynchronize", 2_900, 5)
    builder.launch(2_910, kernel_start=2_920, kernel_dur=50)
    assert "PG008" not in found(builder)
    builder.launch(2_880, kernel_start=2_890, kernel_dur=50, device=1)
    assert "PG008" not in found(builder)


@pytest.mark.parametrize(("dur", "fires"), [(8, False), (8 * 15, False), (8 * 21, True)])
def test_pg008_many_kernels_beside_later_ones_of_their_stream(dur: float, fires: bool) -> None:
    """So many that the reader takes none of them for the odd one."""
    builder = TraceBuilder()
    for number in range(6):
        builder.step(number, number * 1_000, 1_000)
        for index in range(100):
            at = number * 1_000 + index * 10
            long = index in (10, 40, 70)
            builder.launch(at, kernel_start=at + 5, kernel_dur=dur if long else 8, call_dur=3)
    trace = builder.trace()
    assert trace.repairs == ()
    assert ("PG008" in found(builder)) is fires


@pytest.mark.parametrize("kind", ["op", "call"])
@pytest.mark.parametrize(("start", "dur", "fires"), [(150, 149, False), (150, 151, True), (-50, 900, False)])
def test_pg008_a_call_that_outlasts_the_step_around_it(kind: str, start: int, dur: int, fires: bool) -> None:
    """One more step is let pass: marks of some versions close early."""
    builder = TraceBuilder(None)
    for number in range(6):
        builder.step(number, number * 100, 100)
        builder.op("aten::mm", number * 100 + 5, 90)
    if kind == "op":
        builder.op("aten::add", start, dur)
    else:
        builder.runtime("cudaStreamSynchronize", start, dur)
    assert ("PG008" in found(builder)) is fires


def test_pg008_work_of_another_thread_may_outlast_a_step() -> None:
    builder = TraceBuilder(None)
    for number in range(6):
        builder.step(number, number * 100, 100)
        builder.op("aten::mm", number * 100 + 5, 90)
    builder.op("aten::add", 150, 400, thread=AUTOGRAD)
    assert "PG008" not in found(builder)


@pytest.mark.parametrize(("dur", "fires"), [(50, False), (100, True)])
def test_pg008_overhead_while_the_device_idles(dur: float, fires: bool) -> None:
    builder = sound(launches=10)
    builder.event("Buffer Flush", "overhead", 5_500, dur)
    assert ("PG008" in found(builder)) is fires


def test_pg008_overhead_beside_a_busy_device_is_free() -> None:
    builder = sound(steps=3, launches=1)
    builder.launch(100, kernel_start=110, kernel_dur=2_800, stream=9)
    builder.event("Buffer Flush", "overhead", 200, 2_000)
    assert "PG008" not in found(builder)


def test_pg008_calls_without_a_name() -> None:
    builder = sound()
    builder.runtime("INVALID", 100, 5)
    assert found(builder)["PG008"].count == 1


def test_repairs_are_a_reason_without_a_code() -> None:
    import msgspec

    from traces.trace import Repair

    trace = sound().trace()
    mended = msgspec.structs.replace(trace, repairs=(Repair("invalid-number", 3, 17, "..."),))
    (symptom,) = Facts(mended).health.symptoms
    assert (symptom.code, symptom.gravity, symptom.count) == (None, Gravity.CAUTION, 3)
    assert "numbers that are none (3)" in symptom.message


def repaired(builder: TraceBuilder, *kinds: str) -> Facts:
    import msgspec

    from traces.trace import Repair

    return Facts(msgspec.structs.replace(builder.trace(), repairs=tuple(Repair(kind, 1, 17, "") for kind in kinds)))


def test_every_kind_of_repair_has_advice_that_fits_its_cause() -> None:
    from traces.reader.mend.repairs import MESSAGES

    advice = {kind: repaired(sound(), kind).health.symptoms[0].fix or "" for kind in MESSAGES}
    assert all(advice.values())
    assert len(set(advice.values())) >= 6
    assert "export_chrome_trace has returned" in advice["truncated"]
    assert "torch" not in advice["truncated-gzip"]
    assert "update torch" in advice["invalid-escape"]


def test_a_cut_file_is_to_be_copied_again_and_not_recorded_with_fewer_steps() -> None:
    builder = sound()
    for call in range(400):
        builder.runtime("cudaLaunchKernel", 100 + call, 1)
    for kinds, says in (((), "record fewer steps"), (("truncated", "partial-step"), "copy the file again whole")):
        (lost,) = [one for one in repaired(builder, *kinds).health.symptoms if one.code == "PG005"]
        assert says in (lost.fix or "")
    (repair,) = [one for one in repaired(builder, "partial-step", "truncated").health.symptoms if one.code is None]
    assert "prof.step()" not in (repair.fix or "")


def skewed(by_us: float) -> TraceBuilder:
    """Three steps of ten launched kernels; the device's clock is `by_us` behind the host's."""
    builder = TraceBuilder()
    for number in range(3):
        at = 10_000 + number * 1_000
        builder.step(number, at, 1_000)
        for index in range(10):
            start = at + index * 100
            builder.launch(start, kernel_start=start + 10 - by_us, kernel_dur=50)
    return builder


def test_clocks_that_disagree_are_told_and_the_lead_is_not() -> None:
    facts = Facts(skewed(500).trace())
    (symptom,) = [symptom for symptom in facts.health.symptoms if symptom.code == "PG008"]
    assert "the clocks of host and device disagree, by at least 490 us" in symptom.message
    assert facts.time.lead_ns is None


def test_kernels_that_start_while_they_are_launched_are_no_skew() -> None:
    facts = Facts(skewed(8).trace())
    assert not [symptom for symptom in facts.health.symptoms if symptom.code == "PG008"]
    assert facts.time.lead_ns == 0, "a kernel that starts while its call runs has no negative delay"


def test_kernels_without_a_duration_are_no_base_of_advice() -> None:
    builder = TraceBuilder()
    for number in range(3):
        builder.step(number, number * 1_000, 1_000)
        for index in range(10):
            start = number * 1_000 + index * 90
            builder.launch(start, kernel_start=start + 8, kernel_dur=0)
    assert [one.code for one in Facts(builder.trace()).health.symptoms if one.gravity is Gravity.UNUSABLE] == ["PG005"]


@pytest.mark.parametrize(
    ("steps", "stacks", "why"),
    [
        (0, False, "neither ops nor device work: its events were cleared"),
        (0, True, "neither ops nor device work, only Python calls"),
        (1, False, "neither ops nor device work: the loop ended as it began to record"),
        (1, True, "neither ops nor device work: the loop ended as it began to record"),
        (3, True, "neither ops nor device work: the 3 marked steps run nothing of torch"),
    ],
)
def test_pg005_without_any_op(steps: int, stacks: bool, why: str) -> None:
    """Marks are recorded by what records ops, so that where they are, ops were neither cleared nor left out."""
    builder = TraceBuilder(device=None)
    for number in range(steps):
        builder.step(number, 1_000 * number, 1_000)
    if stacks:
        builder.python("train.py(88): step", 0, 900)
    elif not steps:
        builder.annotation("epoch", 0, 900)
    symptom = found(builder)["PG005"]
    assert symptom.gravity is Gravity.UNUSABLE
    assert why in symptom.message


@pytest.mark.parametrize("computes", [False, True])
def test_pg005_where_a_mark_makes_a_tensor(computes: bool) -> None:
    """Before torch 2 it did; a cycle that a loop's end cut short holds these ops alone."""
    builder = TraceBuilder(device=None).step(9, 20, 60)
    for name, start, dur in (("aten::zeros", 0, 15), ("aten::empty", 2, 4), ("aten::zero_", 10, 2)):
        builder.op(name, start, dur)
    if computes:
        builder.op("aten::mm", 30, 40)
    symptom = found(builder).get("PG005")
    assert (symptom is None) is computes
    if symptom:
        assert "device work but for memory made ready: the loop ended as it began" in symptom.message


@pytest.mark.parametrize(("long", "doubted"), [(3_900, False), (4_100, True)])
def test_a_mean_made_of_few_long_steps_is_doubted(long: int, doubted: bool) -> None:
    """Two of six steps are long; with 4000 us instead of 1000 the mean is twice the median."""
    builder, at = TraceBuilder(None), 0
    for number in range(6):
        length = long if number in (2, 3) else 1_000
        builder.step(number, at, length)
        builder.op("aten::mm", at, length)
        at += length
    symptom = found(builder).get(None)
    assert (symptom is not None) is doubted
    if symptom:
        assert (symptom.gravity, symptom.count) == (Gravity.CAUTION, 2)
        assert symptom.message.startswith("2 steps of 6 take 67 % of the time (median 1.0 ms, mean 2.0 ms)")


@pytest.mark.parametrize(
    ("crossing", "gravity"), [(19, None), (20, Gravity.CAUTION), (39, Gravity.CAUTION), (80, Gravity.UNUSABLE)]
)
def test_ops_that_cross_on_one_thread_are_of_several(crossing: int, gravity: Gravity | None) -> None:
    builder = TraceBuilder()
    for index in range(800 - crossing):
        builder.op("aten::mm", index * 100, 60)
    for index in range(crossing):
        builder.op("aten::mm", index * 100 + 40, 50)
    merged = found(builder).get("PG007")
    assert (merged.gravity if merged else None) is gravity


def tasks(*, category: str, inner: str = "aten::mm") -> TraceBuilder:
    """Two tasks of asyncio on one thread, each with a range that stays open while the other runs: each pair of ranges crosses."""
    builder = TraceBuilder(None)
    for number in range(4):
        builder.step(number, number * 5_000, 5_000)
    for index in range(100):
        at = index * 200 - 80 * (index % 2)
        builder.event(f"handle request {index}", category, at, 180)
        builder.op(inner, at + 70, 40)
    return builder


@pytest.mark.parametrize("category", ["user_annotation", "cpu_op"])
def test_ranges_of_tasks_that_take_turns_on_a_thread_may_cross(category: str) -> None:
    assert "PG007" not in found(tasks(category=category, inner="handle"))
    assert "PG007" not in found(tasks(category=category))


def test_a_range_that_another_thread_closes_inside_an_op_is_no_second_thread() -> None:
    builder = TraceBuilder(None)
    for index in range(100):
        builder.annotation("rpc_async#fetch", index * 100, 60)
        builder.op("aten::mm", index * 100 + 40, 50)
    assert "PG007" not in found(builder)


@pytest.mark.parametrize("around", ["user_annotation", "cpu_op", None])
def test_operators_that_cross_are_of_several_threads_whatever_range_is_around(around: str | None) -> None:
    builder = TraceBuilder(None)
    for index in range(100):
        if around:
            builder.event(f"request {index}", around, index * 200, 180)
        builder.op("aten::mm", index * 200, 60)
        builder.op("AddmmBackward0", index * 200 + 40, 50)
    assert found(builder)["PG007"].gravity is Gravity.UNUSABLE


@pytest.mark.parametrize(("start", "dur"), [(40, 21), (59.999, 40)], ids=["child ends late", "neighbour begins early"])
def test_a_rounding_error_is_no_crossing(start: float, dur: float) -> None:
    builder = TraceBuilder()
    for index in range(40):
        builder.op("aten::mm", index * 100, 60)
        builder.op("aten::bmm", index * 100 + start, dur)
    assert "PG007" not in found(builder)


@pytest.mark.parametrize("op", ["aten::cudnn_convolution", "aten::miopen_convolution"])
def test_pg005_ops_of_a_device_that_the_file_does_not_name(op: str) -> None:
    builder = TraceBuilder(None)
    for number in range(3):
        builder.step(number, number * 100, 100)
        builder.op(op, number * 100, 90)
    assert found(builder)["PG005"].gravity is Gravity.CAUTION


# What torch's own validator of traces checks


@pytest.mark.parametrize(("shared", "told"), [(0, False), (2, True)])
def test_a_number_belongs_to_one_kind_of_backward_node(shared: int, told: bool) -> None:
    builder = sound()
    for number in range(20):
        name = "autograd::engine::evaluate_function: AddmmBackward0"
        builder.op(name, number * 10, 4, thread=AUTOGRAD, **{"Sequence number": number})
        if number < shared:
            name = "autograd::engine::evaluate_function: MulBackward0"
            builder.op(name, number * 10 + 5, 4, thread=AUTOGRAD, **{"Sequence number": number})
    symptom = found(builder).get("PG007")
    assert (symptom is not None and "2 of 20 sequence numbers" in symptom.message) is told


@pytest.mark.parametrize(("at", "told"), [(40, False), (20, True)])
def test_a_wait_for_a_stream_begins_where_it_is_empty(at: float, told: bool) -> None:
    builder = sound()
    for number in range(6):
        # The first kernel of a step runs from 8 to 38.
        arguments = {"cuda_sync_kind": "Stream Sync", "stream": 7, "device": 0, "correlation": 90_000 + number}
        builder.event("Stream Sync", "cuda_sync", number * 1_000 + at, 2, pid=0, tid=7, args=arguments)
    symptom = found(builder).get("PG007")
    assert (symptom is not None and "6 of 6 waits for a stream" in symptom.message) is told


@pytest.mark.parametrize(
    ("recorded_at", "stated", "told"),
    [
        (900, True, False),
        # Nothing is said; it is recorded only later; it is not in the trace.
        (900, False, True), (1_200, True, True), (None, True, True),
    ],
)  # fmt: skip
def test_a_wait_for_an_event_names_a_recording_before_it(recorded_at: float | None, stated: bool, told: bool) -> None:
    builder = sound()
    # Another one, so that calls that record events are known to be in the trace.
    builder.runtime("cudaEventRecord", 50, 1, correlation=70_000)
    for number in range(6):
        if recorded_at is not None:
            builder.runtime("cudaEventRecord", recorded_at + number, 1, correlation=80_000 + number)
        arguments = {"cuda_sync_kind": "Stream Wait Event", "stream": 20, "device": 0, "correlation": 90_000 + number}
        arguments["wait_on_cuda_event_record_corr_id"] = 80_000 + number if stated else -1
        builder.event("Stream Wait Event", "cuda_sync", 1_100 + number, 2, pid=0, tid=20, args=arguments)
    symptom = found(builder).get("PG007")
    assert (symptom is not None and "6 of 6 waits for an event" in symptom.message) is told


WHOLE = {
    "Collective name": "allreduce", "In msg nelems": 64, "Out msg nelems": 64, "dtype": "Float", "Group size": 8,
}  # fmt: skip


@pytest.mark.parametrize("lacking", ["Collective name", "In msg nelems", "Out msg nelems", "dtype", "Group size", None])
@pytest.mark.parametrize("others", [True, False])
def test_collectives_state_all_that_others_state(lacking: str | None, others: bool) -> None:
    """What no call of a trace states, an old version did not write."""
    builder = sound()
    for number in range(8):
        named = others and number < 4
        said = {key: value for key, value in WHOLE.items() if named or (key != lacking and (others or lacking is None))}
        builder.op("record_param_comms", 100 + number * 10, 5, **said)
    symptom = found(builder).get("PG007")
    assert (symptom is not None and "4 of 8 collectives" in symptom.message) is (others and lacking is not None)
