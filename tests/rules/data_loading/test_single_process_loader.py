"""DL002: batches made in the training process, 40 ms of each 100 ms step."""

from __future__ import annotations

import pytest

from analyzer.finding import Confidence, State
from building.builders import TraceBuilder
from rules.data_loading.single_process_loader import RULE
from running.one_rule import judged, run


def world(
    *,
    load: float = 40_000,
    workers: int = 0,
    device: str | None = "cuda",
    cores: int | None = 16,
    busy: bool = False,
    advisor: dict[str, object] | None = None,
) -> TraceBuilder:
    """Three steps of 100 ms: load, then one kernel (or op) that fills the rest; `busy` lets the kernel run under the loader."""
    given = {"usable_cores": cores} if cores is not None else {}
    builder = TraceBuilder(device, advisor={**given, **(advisor or {})})
    for number in range(3):
        at = number * 100_000
        builder.step(number, at, 100_000).loader(at, load, workers=workers)
        if device is None:
            builder.op("aten::linear", at + load, 100_000 - load)
        elif busy:
            builder.launch(at + load, kernel_start=at + load + 10, kernel_dur=99_990)
        else:
            builder.launch(at + load, kernel_start=at + load + 10, kernel_dur=100_000 - load - 10)
    return builder


def test_fires_with_the_idle_time_as_bound() -> None:
    found = judged(RULE, world())
    assert found.ns_per_step == 40_000_000
    assert found.confidence is Confidence.HIGH
    assert found.finding.steps_seen == 3
    assert found.finding.why == (
        "The main thread spends 40 ms of each 100 ms step (40 %) making batches itself: `num_workers=0`. "
        "For 40 ms of it the GPU idles."
    )


def test_a_loader_that_can_be_resumed_is_a_loader() -> None:
    builder = world()
    for event in builder.events:
        event["name"] = str(event["name"]).replace("#_Single", "#_StatefulSingle")
    assert judged(RULE, builder).ns_per_step == 40_000_000


@pytest.mark.parametrize(
    ("device", "load", "cores", "expected"),
    [
        ("cuda", 40_000, None, 40_000_000),  # nobody recorded the cores
        ("cuda", 80_000, 2, 20_000_000),  # one worker cannot make a batch in less than 80 ms
        ("cuda", 80_000, 5, 80_000_000),  # four can, in 20 ms
        ("cuda", 80_000, 1, 0),  # no core for a worker
        (None, 40_000, 2, 40_000_000),  # the rest, 60 ms, is longer than half of all work
        (None, 80_000, 2, 20_000_000),  # one worker cannot make a batch in less than 80 ms here either
        (None, 80_000, 3, 60_000_000),  # two can, in 40 ms; three cores do 100 ms of work in 33 ms
        (None, 80_000, 1, 0),
    ],
)
def test_bound_respects_the_cores(device: str | None, load: float, cores: int | None, expected: int) -> None:
    found = judged(RULE, world(device=device, load=load, cores=cores))
    assert found.ns_per_step == pytest.approx(expected, abs=10)


@pytest.mark.parametrize(
    ("device", "used", "expected"),
    [
        (None, 0.4, 40_000_000),  # others had the cores, or it slept: the thread's own time counts
        (None, 1.5, 25_000_000),  # 150 ms of work take 75 ms on two cores, whoever does it
        (None, 2.1, 0),
        ("cuda", 2.1, 40_000_000),  # threads that launch and wait: the device's time is what lasts
    ],
)
def test_cores_that_training_uses_are_none_for_workers(device: str | None, used: float, expected: int) -> None:
    found = judged(RULE, world(device=device, cores=2, advisor={"samples": {"process_cpu_cores": used}}))
    assert found.ns_per_step == pytest.approx(expected, abs=10)


@pytest.mark.parametrize(
    ("device", "batch", "expected"),
    [
        (None, 32, 50_000_000),  # 2.5 ms a sample: training's own core works for it while it waits, 100 ms on two cores
        (None, 1_000, 20_000_000),  # 80 us a sample: a worker adds as much, and one must not take training's core
        ("cuda", 32, 60_000_000),  # 80 ms on two cores
        ("cuda", 1_000, 20_000_000),
    ],
)
def test_training_leaves_its_core_to_workers_that_are_worth_it(device: str | None, batch: int, expected: int) -> None:
    known: dict[str, object] = {"loader": {"num_workers": 0, "batch_size": batch}}
    found = judged(RULE, world(device=device, load=80_000, cores=2, advisor=known))
    assert found.ns_per_step == pytest.approx(expected, abs=10)
    codes = "".join(item.code for item in found.finding.fix)
    assert f"num_workers={2 if batch == 32 else 1}" in codes


@pytest.mark.parametrize(
    ("device", "used", "lacked", "expected"),
    [
        (None, 0.25, 0.0, 80_000_000),  # 5 ms of computing: the rest of the batch is waiting, which takes no core
        (None, 0.25, 0.75, 20_000_000),  # others had the core: it would have computed
        (None, 0.25, None, 20_000_000),  # nobody knows which
        ("cuda", 0.2, 0.0, 80_000_000),
        ("cuda", 1.0, 0.0, 20_000_000),
    ],
)
def test_waiting_for_storage_takes_no_core(
    device: str | None, used: float, lacked: float | None, expected: int
) -> None:
    known = {"samples": {"process_cpu_cores": used}, "core_wait_ratio": lacked}
    found = judged(RULE, world(device=device, load=80_000, cores=2, advisor=known))
    assert found.ns_per_step == pytest.approx(expected, abs=10)
    waits = expected == 80_000_000
    assert any("num_workers=8" in item.code for item in found.finding.fix) is waits
    assert any("mostly waiting, for storage or a network" in item.note for item in found.finding.fix) is waits
    assert any("compete with" in one for one in found.finding.caveats) != waits


@pytest.mark.parametrize(("fastest_ns", "waits"), [(175_000, True), (100_000, False)])
def test_a_core_that_an_empty_loop_misses_as_well_is_no_waiting(fastest_ns: int, waits: bool) -> None:
    """The process uses half a core, and waits for none as far as the system tells; others of a virtual host may have had it."""
    loop = {"turns": 10_000, "rounds": 20, "fastest_ns": fastest_ns, "median_ns": 175_000, "mean_ns": 175_000}
    known = {"samples": {"process_cpu_cores": 0.5, "seconds": 2.0}, "core_wait_ratio": 0.0, "python_loop": loop}
    found = judged(RULE, world(device=None, load=80_000, cores=2, advisor=known))
    assert any("mostly waiting" in item.note for item in found.finding.fix) is waits


@pytest.mark.parametrize(("seconds", "expected"), [(0.5, 80_000_000), (0.05, 20_000_000), (None, 80_000_000)])
def test_cpu_time_of_a_few_ticks_does_not_tell_that_it_waits(seconds: float | None, expected: int) -> None:
    known = {"samples": {"process_cpu_cores": 0.0, "seconds": seconds}, "core_wait_ratio": 0.0}
    found = judged(RULE, world(device=None, load=80_000, cores=2, advisor=known))
    assert found.ns_per_step == pytest.approx(expected, abs=10)


def test_less_work_comes_before_workers_that_hide_little() -> None:
    drawn = {"dataset": {"length": 1_000_000, "sample_bytes": 600_000, "random": True}}
    short, enough = (
        judged(RULE, world(device=None, cores=cores, load=80_000, advisor=drawn)).finding.fix for cores in (2, 9)
    )
    assert [item.code.startswith("Make a sample cheaper") for item in short] == [True, False]
    assert "num_workers=1" in short[1].code
    assert "num_workers=8" in enough[0].code


def test_quiet_with_workers() -> None:
    assert run(RULE, world(workers=4)).state is State.CLEAR


def test_quiet_when_the_wait_has_another_cause() -> None:
    builder = TraceBuilder()
    for number in range(3):
        at = number * 100_000
        builder.step(number, at, 100_000).loader(at, 1_000)
        builder.op("aten::item", at + 1_000, 40_000)
        builder.runtime("cudaStreamSynchronize", at + 1_000, 40_000)
        builder.launch(at + 41_000, kernel_start=at + 41_010, kernel_dur=58_000)
    assert run(RULE, builder).state is State.CLEAR


def test_beside_a_busy_device_it_fires_without_a_saving() -> None:
    found = judged(RULE, world(busy=True))
    assert found.ratio < 0.2
    assert found.finding.saving.claims.total_ns <= 40_000_000 + 30_000  # the first load only: nothing ran before it


@pytest.mark.parametrize(("load", "state"), [(4_900, State.CLEAR), (5_100, State.FIRED)])
def test_boundary(load: float, state: State) -> None:
    assert run(RULE, world(load=load)).state is state


def test_not_applicable_without_a_loader() -> None:
    builder = TraceBuilder()
    builder.step(0, 0, 1_000).launch(10, kernel_start=20, kernel_dur=900)
    assert run(RULE, builder).state is State.NOT_APPLICABLE


@pytest.mark.parametrize(
    ("cores", "confidence"), [(None, Confidence.MEDIUM), (2, Confidence.LOW), (16, Confidence.HIGH)]
)
def test_confidence_follows_the_cores(cores: int | None, confidence: Confidence) -> None:
    assert judged(RULE, world(cores=cores)).confidence is confidence


def test_never_more_workers_than_cores_beside_training() -> None:
    fixes = [judged(RULE, world(cores=cores)).finding.fix for cores in (1, 2, 4, 64)]
    suggested = [[item.code for item in fix if "num_workers=" in item.code] for fix in fixes]
    assert suggested[0] == []
    assert [
        "num_workers=1" in suggested[1][0],
        "num_workers=3" in suggested[2][0],
        "num_workers=8" in suggested[3][0],
    ] == [True] * 3


def test_on_two_cores_memory_comes_first_unless_the_data_are_large() -> None:
    assert "randperm" in judged(RULE, world(cores=2)).finding.fix[0].code
    large = {"dataset": {"length": 1_000_000, "sample_bytes": 600_000}}
    codes = "".join(item.code for item in judged(RULE, world(cores=2, advisor=large)).finding.fix)
    assert "randperm" not in codes
    assert "num_workers=1" in codes


@pytest.mark.parametrize("name", ["[_TrainingEpochLoop].train_dataloader_next", "[_EvaluationLoop].val_next"])
def test_lightnings_range_around_the_call_hides_nothing(name: str) -> None:
    """The outer range has no class of the iterator in its name; the call inside it is counted once, and its workers are known."""
    builder = world(load=39_990)
    for number in range(3):
        builder.annotation(f"[pl][profile]{name}", number * 100_000 - 5, 40_000)
    found = judged(RULE, builder)
    assert found.ns_per_step == pytest.approx(40_000_000, rel=1e-3)
    assert run(RULE, world(workers=2)).state is not State.FIRED


@pytest.mark.parametrize(("cores", "told"), [(1, "With 1 core workers"), (2, "With 2 cores workers")])
def test_one_core_is_one(cores: int, told: str) -> None:
    found = judged(RULE, world(device=None, load=80_000, cores=cores))
    assert any(told in one for one in found.finding.caveats)


def handing_over(each_ns: object, tensors: object) -> dict[str, object]:
    return {"hand_over": {"rounds": 12, "lower_quartile_ns": each_ns}, "dataset": {"batch_tensors": tensors}}


def test_getting_a_batch_from_a_worker_stays() -> None:
    """It takes each of three tensors 2 ms: the step cannot be shorter than its rest and 6 ms."""
    found = judged(RULE, world(advisor=handing_over(2_000_000, 3)))
    assert found.ns_per_step == pytest.approx(34_000_000, abs=10)
    assert "getting a batch from a worker 6.0 ms" in found.finding.saving.basis
    assert "Getting a batch" not in found.finding.fix[0].note
    slower = judged(RULE, world(advisor=handing_over(10_000_000, 3)))
    assert "takes the main process 30 ms here, as measured" in slower.finding.fix[-1].note
    assert "num_workers" not in slower.finding.fix[0].code


def test_what_comes_no_sooner_from_a_worker_is_not_moved_there() -> None:
    outcome = run(RULE, world(advisor=handing_over(20_000_000, 2)))
    assert outcome.state is State.CLEAR
    assert outcome.reason == "a batch is made in 40 ms; to get one from a worker takes 40 ms here"


@pytest.mark.parametrize(
    ("each_ns", "tensors", "left"),
    [(None, 3, 40), ("2", 3, 40), (True, 3, 40), (-5, 3, 40), (0, 3, 40), (2_000_000, None, 38), (2_000_000, -1, 38)],
)
def test_what_was_not_measured_takes_nothing(each_ns: object, tensors: object, left: float) -> None:
    found = judged(RULE, world(advisor=handing_over(each_ns, tensors)))
    assert found.ns_per_step == pytest.approx(left * 1_000_000, abs=10)


def test_a_batch_of_less_than_a_millisecond_may_come_later() -> None:
    """Nobody measured what it takes there; of larger ones that is little."""
    small = TraceBuilder("cuda", advisor={"usable_cores": 16})
    for number in range(3):
        at = number * 5_000
        small.step(number, at, 5_000).loader(at, 800)
        small.launch(at + 800, kernel_start=at + 810, kernel_dur=4_190)
    assert "made in 800 us may come later so" in judged(RULE, small).finding.fix[0].note
    assert "may come later" not in judged(RULE, world()).finding.fix[0].note
