"""DL008: eight workers on four cores, and still 10 ms of each 100 ms step are waiting."""

from __future__ import annotations

import pytest

from analyzer.finding import Severity, State
from builders import TraceBuilder
from rules.data_loading.too_many_workers import RULE
from worlds import judged, renamed, run, shifted


def world(*, workers: int | None = 8, cores: int | None = 4, wait: float = 10_000, processes: int = 8) -> TraceBuilder:
    """Three steps of 100 ms that wait, then compute."""
    known: dict[str, object] = {"loader": {"num_workers": workers}} if workers is not None else {}
    if cores is not None:
        known["usable_cores"] = cores
    builder = TraceBuilder(advisor=known)
    for number in range(3):
        at = number * 100_000
        builder.step(number, at, 100_000).loader(at, wait, workers=processes)
        builder.launch(at + wait, kernel_start=at + wait + 10, kernel_dur=100_000 - wait - 10)
    return builder


def test_fires_without_a_bound() -> None:
    found = judged(RULE, world())
    assert (found.severity, found.ns_per_step) == (Severity.INFO, 0)
    assert found.finding.why == (
        "8 workers and the training process share 4 cores, and still each step waits 10 ms (10 %) for a batch."
    )
    assert "+   num_workers=3" in found.finding.fix[0].code


@pytest.mark.parametrize(("workers", "state"), [(3, State.CLEAR), (4, State.FIRED)])
def test_boundary_of_the_cores(workers: int, state: State) -> None:
    assert run(RULE, world(workers=workers)).state is state


@pytest.mark.parametrize(("wait", "state"), [(4_900, State.CLEAR), (5_100, State.FIRED)])
def test_boundary_of_the_share(wait: float, state: State) -> None:
    assert run(RULE, world(wait=wait)).state is state


@pytest.mark.parametrize(("used", "state"), [(0.37, State.CLEAR), (0.38, State.FIRED)])
def test_workers_that_mostly_wait_need_no_core(used: float, state: State) -> None:
    builder = world()
    builder.top["advisor"]["samples"] = {"worker_cpu_ratio": [used] * 8}
    # Eight workers beside training on four cores: together they may use three.
    assert run(RULE, builder).state is state


@pytest.mark.parametrize(("workers", "cores"), [(None, 4), (8, None)])
def test_cannot_tell_what_was_not_recorded(workers: int | None, cores: int | None) -> None:
    result = run(RULE, world(workers=workers, cores=cores))
    assert result.state is State.CANNOT_TELL
    assert "advisor collect" in result.reason


def test_not_applicable_without_workers() -> None:
    assert run(RULE, world(workers=0, processes=0)).state is State.NOT_APPLICABLE


def test_time_and_process_numbers_do_not_matter() -> None:
    plain = judged(RULE, world())
    other = judged(RULE, renamed(shifted(world(), 1e15), 1_000))
    assert (other.identity, other.finding.why) == (plain.identity, plain.finding.why)
