"""ID004 of steps that take longer at regular distances, and less than three times as long: told, with how much of the run."""

from __future__ import annotations

import numpy as np
import pytest

from analyzer.facts.recording.regular_steps import regular_steps
from analyzer.finding import State
from building.builders import TraceBuilder
from rules.idle.work_between_steps import RULE
from running.one_rule import run

MS = 1_000_000


def lasting(steps: int, more: float, every: int, *, seed: int = 1, spread: float = 0.15) -> np.ndarray:
    """Steps of 10 ms and a noise, every so many of them `more` times as long."""
    noise = 1 + spread * np.abs(np.random.default_rng(seed).normal(size=steps))
    number = np.arange(steps)
    return np.round(10 * MS * noise * np.where(number % every == every - 1, more, 1.0))


def found(ns: np.ndarray) -> int | None:
    regular = regular_steps(np.arange(len(ns), dtype=float), ns)
    return None if regular is None else regular.every


@pytest.mark.parametrize("every", [5, 8, 10, 13])
def test_the_smallest_distance_is_found(every: int) -> None:
    assert found(lasting(100, 1.8, every)) == (every if 100 // every >= 6 else None)


@pytest.mark.parametrize("seed", range(12))
def test_steps_without_a_rhythm_have_none(seed: int) -> None:
    rng = np.random.default_rng(seed)
    # A few steps that other programs make longer, at no regular distances.
    late = np.where(rng.random(200) < 0.1, 1.8, 1.0)
    assert found(lasting(200, 1.0, 10, seed=seed) * late) is None


def test_too_little_is_none() -> None:
    assert found(lasting(100, 1.1, 10, spread=0.02)) is None
    assert found(lasting(20, 1.8, 5)) is None


def world(more: float) -> TraceBuilder:
    """A recorded part of a run of 90 steps, every tenth of which takes so many times as long."""
    ns = lasting(90, more, 10)
    rows = [[1, int(one)] for one in np.sort(ns)]
    longest = [[number + 1, int(one)] for number, one in enumerate(ns)]
    told = {
        "ns": 0, "before_ns": 0, "after_ns": 0, "own_ns": 0, "steps": 90, "profiled_steps": 0, "profiled_ns": 0, "times": rows,
        "longest": longest, "other_batches_ns": 0, "stopped": False,
        "between": {"sample_ns": 50 * MS, "samples": 0, "cpu_ns": 0, "places": []},
    }  # fmt: skip
    builder = TraceBuilder(None, advisor={"run": told})
    for number in range(6):
        builder.step(number, number * 10_000, 10_000)
        builder.op("aten::linear", number * 10_000 + 10, 9_900)
    return builder


@pytest.mark.parametrize(
    ("more", "state"), [(1.0, State.CLEAR), (1.8, State.CLEAR), (2.6, State.CANNOT_TELL)], ids=["none", "some", "much"]
)
def test_what_comes_every_so_many_steps_is_told(more: float, state: State) -> None:
    result = run(RULE, world(more))
    assert result.state is state
    told = "one of every 10 steps takes" in result.reason
    assert told is (more > 1)
    assert ("as where a checkpoint or a log is written" in result.reason) is told
