"""ME004: 100 MB more are allocated after each of five steps."""

from __future__ import annotations

import pytest

from analyzer.finding import Confidence, State
from programs.memory import GB, world
from rules.memory.growth import RULE
from running.one_rule import judged, run

MB = 1_000_000
GROWING = [GB + 100 * MB * index for index in range(5)]


def test_fires_as_a_possibility() -> None:
    found = judged(RULE, world(GROWING))
    assert found.confidence is Confidence.LOW
    assert found.finding.why.startswith("Allocated memory is higher after each of 5 steps, by 381 MiB")


def test_a_single_step_back_is_no_leak() -> None:
    assert run(RULE, world([*GROWING[:3], GB, *GROWING[3:]])).state is State.CLEAR


@pytest.mark.parametrize(("total", "state"), [(60, State.CLEAR), (70, State.FIRED)])
def test_boundary_of_growth(total: int, state: State) -> None:
    # 64 MiB are 67.1 MB.
    assert run(RULE, world([GB + total * MB * index // 4 for index in range(5)])).state is state


@pytest.mark.parametrize(("steps", "state"), [(3, State.CANNOT_TELL), (4, State.FIRED)])
def test_boundary_of_steps(steps: int, state: State) -> None:
    assert run(RULE, world(GROWING[:steps])).state is state


def test_cannot_tell_without_totals() -> None:
    assert run(RULE, world(GROWING, totals=False)).state is State.CANNOT_TELL
