"""DL007: a batch takes 60 ms of one core, the rest of the step 20 ms, and there are two or four cores."""

from __future__ import annotations

import pytest

from analyzer.engine.trust import grade
from analyzer.facts import Facts
from analyzer.finding import Confidence, State
from building.builders import TraceBuilder
from rules.data_loading.too_few_cores import RULE
from running.one_rule import judged, run


def world(
    *, load: float = 60_000, rest: float = 20_000, workers: int = 0, cores: int | None = 2, device: str | None = "cuda"
) -> TraceBuilder:
    """Four steps: load (or wait), then compute."""
    known = {"loader": {"num_workers": workers}} | ({"usable_cores": cores} if cores else {})
    builder = TraceBuilder(device, advisor=known)
    for number in range(4):
        at = number * (load + rest)
        builder.step(number, at, load + rest).loader(at, load, workers=workers)
        if device is None:
            builder.op("aten::linear", at + load, rest)
        else:
            builder.launch(at + load, kernel_start=at + load + 10, kernel_dur=rest - 10)
    return builder


def test_fires_with_the_idle_time_as_bound() -> None:
    found = judged(RULE, world())
    assert found.ns_per_step == 60_000_000
    assert found.confidence is Confidence.HIGH
    assert found.finding.why == (
        "A batch costs about 60 ms of one core. 1 core beside the program can make one every 60 ms at best, "
        "but the rest of the step takes only 20 ms: 75 % of the step is waiting."
    )
    assert any("decode_jpeg" in item.code for item in found.finding.fix)


@pytest.mark.parametrize("random", [False, True])
def test_a_worker_where_the_cores_lack_comes_last(*, random: bool) -> None:
    builder = world(device=None)
    builder.top["advisor"]["dataset"] = {"random": random, "batch_kind": "tensors"}
    fixes = judged(RULE, builder).finding.fix
    assert "num_workers" in fixes[-1].code
    assert ("Make a sample cheaper" in fixes[0].code) is random
    assert len(fixes) == 2


@pytest.mark.parametrize(("length", "once"), [(800, True), (80, False)])
def test_what_is_stored_for_the_next_pass_comes_last_where_there_is_none(length: int, once: bool) -> None:
    """A program of one epoch was told first to store its samples."""
    builder = world(device=None)
    builder.top["advisor"] |= {
        "dataset": {"random": False, "batch_kind": "tensors", "length": length, "sample_bytes": 3_000_000},
        "run": {"steps": 100, "times": [[100, 8_000_000_000]]},
        "steps": {"batches_per_step": 1},
        "batch_size": 8,
    }
    fixes = judged(RULE, builder).finding.fix
    assert ("Make a sample cheaper" in fixes[0].code) is once
    stored = next(one for one in fixes if "torch.save" in one.code)
    assert ("the next run gains" in (stored.note or "")) is once
    assert (fixes[-1] is stored) is once


@pytest.mark.parametrize(("load", "state"), [(59_000, State.CLEAR), (61_000, State.FIRED)])
def test_boundary_of_the_cores(load: float, state: State) -> None:
    # Three workers on four cores make a batch in a third of the time.
    assert run(RULE, world(load=load, cores=4)).state is state


@pytest.mark.parametrize(("rest", "state"), [(99_000, State.CLEAR), (90_000, State.FIRED)])
def test_boundary_of_the_share(rest: float, state: State) -> None:
    builder = world(load=5_000, rest=rest, workers=1, cores=2)
    assert run(RULE, builder).state is state


@pytest.mark.parametrize(("without_core", "state"), [(0.49, State.FIRED), (0.51, State.CANNOT_TELL)])
def test_time_without_a_core_is_no_cost_of_a_batch(without_core: float, state: State) -> None:
    builder = world()
    builder.top["advisor"]["core_wait_ratio"] = without_core
    # Of 80 ms a step at least 20 ms must be loading to take longer than the rest: 60 ms less half of the step.
    assert run(RULE, builder).state is state


def test_fires_where_every_core_has_a_worker_and_training_still_waits() -> None:
    found = judged(RULE, world(workers=3, cores=4))
    assert found.confidence is Confidence.MEDIUM
    assert "240 ms of one core" in found.finding.why


@pytest.mark.parametrize(
    ("used", "state"), [(0.03, State.CLEAR), (0.24, State.CLEAR), (0.26, State.FIRED), (1.0, State.FIRED)]
)
def test_workers_that_wait_need_no_cores(used: float, state: State) -> None:
    """Of 80 ms a step the worker works `used`; the rest of the step takes 20 ms."""
    builder = world(workers=1, cores=2)
    builder.top["advisor"]["samples"] = {"worker_cpu_ratio": [used]}
    result = run(RULE, builder)
    assert result.state is state
    if state is State.CLEAR:
        assert "of a core and waits otherwise" in result.reason
    else:
        assert not judged(RULE, builder).finding.caveats


@pytest.mark.parametrize(("lacked", "state"), [(0.6, State.CANNOT_TELL), (0.2, State.FIRED)])
def test_workers_whose_cores_others_had_are_not_judged(lacked: float, state: State) -> None:
    builder = world(workers=1, cores=2)
    builder.top["advisor"]["samples"] = {"worker_cpu_ratio": [0.4], "worker_core_wait_ratio": [lacked]}
    assert run(RULE, builder).state is state
    doubts = [reason.message for reason in grade(Facts(builder.trace())).symptoms]
    assert any("workers were ready to run and had no core" in doubt for doubt in doubts) is (state is State.CANNOT_TELL)


def test_waits_in_bursts_are_no_lack_of_cores() -> None:
    builder = TraceBuilder(advisor={"loader": {"num_workers": 1}, "usable_cores": 2})
    for number in range(12):
        # Every fourth batch is late by 80 ms, and those between take a little over a millisecond.
        wait = 80_000 if number % 4 == 3 else 1_200
        at = number * 100_000
        builder.step(number, at, 100_000).loader(at, wait, workers=1)
        builder.launch(at + wait, kernel_start=at + wait + 10, kernel_dur=100_000 - wait - 10)
    assert run(RULE, builder).state is State.CLEAR


def test_quiet_while_there_is_room_for_workers() -> None:
    result = run(RULE, world(workers=2, cores=16))
    assert result.state is State.CLEAR
    assert "room for more" in result.reason


def test_no_device_no_decoding_on_it() -> None:
    assert all("decode_jpeg" not in item.code for item in judged(RULE, world(device=None)).finding.fix)


def test_cannot_tell_without_the_cores() -> None:
    result = run(RULE, world(cores=None))
    assert result.state is State.CANNOT_TELL
    assert "advisor collect" in result.reason


def test_not_applicable_without_a_loader() -> None:
    builder = TraceBuilder()
    builder.step(0, 0, 1_000).launch(10, kernel_start=20, kernel_dur=900)
    assert run(RULE, builder).state is State.NOT_APPLICABLE
