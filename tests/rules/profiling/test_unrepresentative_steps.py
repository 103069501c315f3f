"""PG006: the first of five steps takes longer than the others."""

from __future__ import annotations

import pytest

from analyzer.finding import Severity, State
from building.builders import TraceBuilder
from rules.profiling.unrepresentative_steps import RULE
from running.one_rule import judged, run


def steps(first: float = 20_000, last_kernels: int = 4) -> TraceBuilder:
    """Five steps of 10 ms with four kernels each; the first lasts `first`, the last has `last_kernels`."""
    builder = TraceBuilder()
    at = 0.0
    for number in range(5):
        dur = first if number == 0 else 10_000
        builder.step(number, at, dur)
        for index in range(last_kernels if number == 4 else 4):
            builder.launch(at + 100 * index, kernel_start=at + 100 * index + 10, kernel_dur=50)
        at += dur
    return builder


def test_fires_with_the_step_left_out() -> None:
    found = judged(RULE, steps())
    assert (found.severity, found.ns_per_step) == (Severity.INFO, 0)
    assert "step 0 is left out: first step is 2.0 times the median" in found.finding.why


@pytest.mark.parametrize(("first", "state"), [(11_900, State.CLEAR), (12_100, State.FIRED)])
def test_boundary(first: float, state: State) -> None:
    assert run(RULE, steps(first)).state is state


def test_a_last_step_that_was_cut_off() -> None:
    assert "cut off" in judged(RULE, steps(10_000, last_kernels=2)).finding.why


def test_quiet_when_all_are_alike() -> None:
    assert run(RULE, steps(10_000)).state is State.CLEAR


@pytest.mark.parametrize("marked", [True, False])
def test_a_recording_taken_as_one_is_no_recording_found(*, marked: bool) -> None:
    builder = steps(10_000)
    builder.events[:] = [event for event in builder.events if marked or not event["name"].startswith("ProfilerStep")]
    assert run(RULE, builder).reason == (
        "5 steps found, none left out" if marked else "nothing tells steps apart: the recording is taken as one"
    )
