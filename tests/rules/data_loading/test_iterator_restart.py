"""DL005: in the third of six steps the loader's workers are started again, 60 ms."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from analyzer.finding import Confidence, Severity, State
from builders import TraceBuilder
from rules.data_loading.iterator_restart import RULE
from worlds import judged, renamed, run, shifted


def world(
    waits: Sequence[float] = (500, 500, 60_500, 500, 500, 500),
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
        builder.python("torch/utils/data/dataloader.py(491): _get_iterator", 200_000, 50_000)
    return builder


def test_fires_with_low_severity_where_the_epoch_is_unknown() -> None:
    found = judged(RULE, world())
    assert found.ns_per_step == 10_000_000
    assert (found.severity, found.confidence) == (Severity.LOW, Confidence.LOW)
    assert "One call of the loader takes 61 ms, the others 500 us" in found.finding.why or "60 ms" in found.finding.why


def test_spread_over_the_epoch_where_it_is_known() -> None:
    known = {"loader": {"batch_size": 100}, "dataset": {"length": 6_000, "sample_bytes": 10}}
    found = judged(RULE, world(advisor=known))
    assert found.ns_per_step == pytest.approx(1_000_000, abs=2)
    assert "of 60 steps" in found.finding.why


def test_a_stack_that_shows_it_makes_it_sure() -> None:
    assert judged(RULE, world(stack=True)).confidence is Confidence.HIGH


@pytest.mark.parametrize(("long", "state"), [(48_000, State.CLEAR), (52_000, State.FIRED)])
def test_boundary_of_the_multiple(long: float, state: State) -> None:
    waits = (5_000, 5_000, long, 5_000, 5_000, 5_000)
    assert run(RULE, world(waits)).state is state


@pytest.mark.parametrize(("long", "state"), [(30_300, State.CLEAR), (30_700, State.FIRED)])
def test_boundary_of_the_share(long: float, state: State) -> None:
    assert run(RULE, world((500, 500, long, 500, 500, 500))).state is state


def test_quiet_when_several_calls_are_long() -> None:
    assert run(RULE, world((500, 60_000, 500, 60_000, 500, 500, 500))).state is State.CLEAR


def test_cannot_tell_from_two_batches() -> None:
    assert run(RULE, world((500, 60_000))).state is State.CANNOT_TELL


def test_not_applicable_without_workers() -> None:
    assert run(RULE, world(workers=0)).state is State.NOT_APPLICABLE


def test_time_and_process_numbers_do_not_matter() -> None:
    plain = judged(RULE, world())
    other = judged(RULE, renamed(shifted(world(), 1e15), 1_000))
    assert (other.ns_per_step, other.identity, other.finding.why) == (
        plain.ns_per_step,
        plain.identity,
        plain.finding.why,
    )
