"""DL008: eight workers on four cores, and still 10 ms of each 100 ms step are waiting."""

from __future__ import annotations

import pytest

from analyzer.finding import Severity, State
from building.builders import TraceBuilder
from rules.data_loading.too_many_workers import RULE
from running.one_rule import judged, run


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
        "8 workers and the main process share 4 cores, and still each step waits 10 ms (10 %) for a batch."
    )
    assert "+    num_workers=3" in found.finding.fix[0].code


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


GIB = 2**30


def crowded(*, left: float = 3.0, each: float = 1.5, workers: int = 3) -> TraceBuilder:
    """Workers for which there are cores, on a machine of 32 GiB."""
    builder = world(workers=workers)
    memory = {"total_bytes": 32 * GIB, "available_bytes": round(left * GIB)}
    builder.top["advisor"]["samples"] = {"worker_private_bytes": [round(each * GIB)] * workers, "memory": memory}
    return builder


def test_workers_fill_the_memory() -> None:
    found = judged(RULE, crowded())
    assert (found.severity, found.ns_per_step) == (Severity.INFO, 0)
    assert found.finding.title == "Loader workers fill the memory"
    assert found.finding.why == (
        "3 workers hold 4.5 GiB of memory, 1.5 GiB each, and only 3.0 GiB of 32 GiB (9.4 %) are left: "
        "when that runs out, the system ends a worker."
    )
    # 0.2 GiB are missing to a tenth: one worker less.
    assert "+    num_workers=2" in found.finding.fix[0].code


@pytest.mark.parametrize(
    ("left", "each", "state"),
    [
        (3.1, 1.5, State.FIRED),
        (3.3, 1.5, State.CLEAR),  # a tenth of the memory is left
        (3.0, 1.01, State.FIRED),
        (3.0, 0.99, State.CLEAR),  # something else holds the memory
    ],
)
def test_boundaries_of_the_memory(left: float, each: float, state: State) -> None:
    assert run(RULE, crowded(left=left, each=each)).state is state


def test_one_worker_cannot_become_fewer() -> None:
    (fix,) = judged(RULE, crowded(workers=1, each=4.0)).finding.fix
    assert "NumPy array" in fix.code


@pytest.mark.parametrize(
    "samples", [{}, {"memory": None}, {"worker_private_bytes": [None]}, {"memory": {"total_bytes": 0}}]
)
def test_memory_that_nobody_sampled_is_not_judged(samples: dict[str, object]) -> None:
    builder = crowded()
    builder.top["advisor"]["samples"] = {} if not samples else builder.top["advisor"]["samples"] | samples
    assert run(RULE, builder).state is State.CLEAR


def test_cores_and_memory_are_two_findings() -> None:
    result = run(RULE, crowded(workers=8))
    assert [one.title for one in result.findings] == ["Loader workers fill the memory", None]
