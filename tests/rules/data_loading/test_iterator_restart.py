"""DL005: every so many steps the loader's workers are started again, 60 ms."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from analyzer.finding import Confidence, Severity, State
from analyzer.rule import Rule
from building.builders import TraceBuilder
from rules.data_loading.bursty_waits import RULE as BURSTS
from rules.data_loading.iterator_restart import RULE
from rules.idle.isolated_gaps import RULE as GAPS
from rules.python.gc_pauses import RULE as GC
from rules.python.python_overhead import RULE as PYTHON
from running.one_rule import judged, run


def world(
    waits: Sequence[float] = (60_500, 500, 500, 500, 500, 500),
    *,
    workers: int = 4,
    advisor: dict[str, object] | None = None,
    stack: bool = False,
) -> TraceBuilder:
    """Steps of 100 ms that wait as long as given."""
    builder = TraceBuilder(advisor=advisor)
    for number, wait in enumerate(waits):
        at = number * 100_000
        builder.step(number, at, 100_000).loader(at, wait, workers=workers)
        builder.launch(at + wait, kernel_start=at + wait + 10, kernel_dur=100_000 - wait - 10)
    if stack:
        builder.python("torch/utils/data/dataloader.py(491): _get_iterator", 0, 50_000)
    return builder


def test_fires_with_low_severity_where_the_epoch_is_unknown() -> None:
    found = judged(RULE, world())
    assert found.ns_per_step == 10_000_000
    assert (found.severity, found.confidence) == (Severity.LOW, Confidence.MEDIUM)
    assert "until the first batch is made, and 500 us for the others" in found.finding.why


def test_spread_over_the_epoch_where_it_is_known() -> None:
    known = {"loader": {"batch_size": 100}, "dataset": {"length": 6_000, "sample_bytes": 10}}
    found = judged(RULE, world(advisor=known))
    assert found.ns_per_step == pytest.approx(1_000_000, abs=2)
    assert "of 60 steps" in found.finding.why


def test_a_stack_that_shows_it_makes_it_sure() -> None:
    assert judged(RULE, world(stack=True)).confidence is Confidence.HIGH


def restarting(
    restarts: Sequence[int],
    steps: int = 12,
    *,
    persistent: bool = False,
    shuffle: bool = False,
    device: str | None = "cuda",
    advisor: dict[str, object] | None = None,
    filling: int = 0,
) -> TraceBuilder:
    """Steps of 100 ms whose loader is exhausted (10 ms), made (30 ms) and fills again (20.5 ms) in those given.

    In as many steps as `filling` says each batch after the first is late by 10 ms.
    """
    builder = TraceBuilder(device, advisor=advisor)
    for number in range(steps):
        at = number * 100_000
        builder.step(number, at, 100_000)
        late = any(restart < number <= restart + filling for restart in restarts)
        wait = 10_500 if late else 500
        if number in restarts:
            builder.loader(at, 10_000, workers=4)
            if not persistent:
                _draw(builder, at + 10_100)
            if shuffle:
                _draw(builder, at + 39_000)
                builder.op("aten::randperm", at + 39_100, 10)
            builder.loader(at + 40_000, 20_500, workers=4)
            wait = 60_500
        else:
            builder.loader(at, wait, workers=4)
        if device is None:
            builder.op("aten::linear", at + wait, 100_000 - wait)
        else:
            builder.launch(at + wait, kernel_start=at + wait + 10, kernel_dur=100_000 - wait - 10)
    return builder


def _draw(builder: TraceBuilder, at: float) -> None:
    builder.op("aten::empty", at, 5)
    builder.op("aten::random_", at + 10, 5)
    builder.op("aten::item", at + 20, 5)


@pytest.mark.parametrize("device", ["cuda", None])
@pytest.mark.parametrize("shuffle", [False, True])
def test_several_restarts_at_equal_distances_need_no_metadata(device: str | None, shuffle: bool) -> None:
    found = judged(RULE, restarting((2, 7), device=device, shuffle=shuffle))
    assert "started 2 times" in found.finding.why
    assert "an epoch of 5 steps" in found.finding.why
    assert found.confidence is Confidence.HIGH
    # 12 of 5 steps hold two or three beginnings; 2.4 on average, but no more than were seen.
    assert found.ns_per_step == pytest.approx(2 * 60_500_000 / 12 * min(1, 12 / 5 / 2), rel=2e-3)


def test_one_restart_of_a_known_epoch_is_spread_over_it() -> None:
    known = {"loader": {"batch_size": 100}, "dataset": {"length": 12_000, "sample_bytes": 10}}
    found = judged(RULE, restarting((4,), advisor=known))
    assert found.ns_per_step == pytest.approx(60_500_000 / 12 * 12 / 120, rel=2e-3)


def test_restarts_at_unequal_distances_leave_the_epoch_unknown() -> None:
    found = judged(RULE, restarting((1, 5, 10)))
    assert found.severity is Severity.LOW
    assert "how long an epoch is was not recorded" in found.finding.why


@pytest.mark.parametrize(("filling", "counted"), [(1, 1), (3, 3), (4, 4), (5, 4)])
def test_the_filling_of_the_queue_belongs_to_the_start(filling: int, counted: int) -> None:
    known = {"loader": {"num_workers": 2}}
    plain = judged(RULE, restarting((2,), advisor=known))
    filled = judged(RULE, restarting((2,), advisor=known, filling=filling))
    # Two batches are asked of each of two workers at once: what is late after those is late for another reason.
    assert (filled.ns_per_step - plain.ns_per_step) * 12 == pytest.approx(counted * 10_000_000, abs=100)


@pytest.mark.parametrize(("device", "counted"), [(None, 10_000_000), ("cuda", 0)])
def test_memory_that_the_first_step_copies_belongs_to_the_start(device: str | None, counted: int) -> None:
    """The ops of the step with the start take 39.5 ms, those of the others 29.5: forked workers share what is written to."""

    def found(first: int) -> int:
        builder = TraceBuilder(
            device, advisor={"loader": {"batch_size": 100}, "dataset": {"length": 600, "sample_bytes": 10}}
        )
        for number in range(6):
            at = number * 100_000
            builder.step(number, at, 100_000)
            if number == 2:
                _draw(builder, at + 100)
                builder.loader(at + 40_000, 20_500, workers=4)
                builder.op("aten::linear", at + 60_500, first)
            else:
                builder.loader(at, 500, workers=4).op("aten::linear", at + 500, 29_500)
            if device:
                builder.launch(at + 90_000, kernel_start=at + 90_010, kernel_dur=5_000)
        return judged(RULE, builder).ns_per_step * 6

    assert found(39_500) - found(29_500) == pytest.approx(counted, abs=20)
    # A step that takes less than others copied nothing.
    assert found(9_500) == found(29_500)


def test_workers_that_stay_are_not_started_again() -> None:
    assert run(RULE, restarting((2, 7), persistent=True, shuffle=True)).state is State.CLEAR


def test_late_batches_are_no_restarts_however_regular() -> None:
    waits = [500, 500, 60_500, 500, 500] * 3
    assert run(RULE, world(waits)).state is State.CLEAR


def test_one_late_batch_is_no_restart_where_ops_show_that_no_iterator_was_made() -> None:
    result = run(RULE, world((500, 500, 60_500, 500, 500, 500)))
    assert (result.state, "slow sample" in result.reason) == (State.CLEAR, True)


def test_a_seed_drawn_by_the_model_is_no_restart() -> None:
    builder = world((500,) * 6)
    for number in range(6):
        _draw(builder, number * 100_000 + 60_000)
        builder.op("aten::linear", number * 100_000 + 61_000, 30_000)
    assert run(RULE, builder).state is State.CLEAR


@pytest.mark.parametrize("rule", [GC, PYTHON, GAPS, BURSTS])
@pytest.mark.parametrize("device", ["cuda", None])
def test_a_restart_is_blamed_on_nothing_else(rule: Rule, device: str | None) -> None:
    assert run(rule, restarting((2,), device=device)).state is not State.FIRED


@pytest.mark.parametrize(("long", "state"), [(48_000, State.CLEAR), (52_000, State.FIRED)])
def test_boundary_of_the_multiple(long: float, state: State) -> None:
    waits = (long, 5_000, 5_000, 5_000, 5_000, 5_000)
    assert run(RULE, world(waits)).state is state


@pytest.mark.parametrize(("long", "state"), [(30_300, State.CLEAR), (30_700, State.FIRED)])
def test_boundary_of_the_share(long: float, state: State) -> None:
    assert run(RULE, world((long, 500, 500, 500, 500, 500))).state is state


def test_quiet_when_several_calls_are_long() -> None:
    assert run(RULE, world((500, 60_000, 500, 60_000, 500, 500, 500))).state is State.CLEAR


def test_cannot_tell_from_two_batches() -> None:
    assert run(RULE, world((500, 60_000))).state is State.CANNOT_TELL


def test_not_applicable_without_workers() -> None:
    assert run(RULE, world(workers=0)).state is State.NOT_APPLICABLE
