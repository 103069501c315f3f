"""PY005: one step of seven takes twice as long as the others, because the loader is late."""

from __future__ import annotations

import pytest

from analyzer.finding import Confidence, Severity, State
from builders import TraceBuilder
from rules.python.unsteady_steps import RULE
from worlds import judged, renamed, run, shifted

STEP = 100_000


def world(
    *, late: float = 100_000, slow: tuple[int, ...] = (4,), steps: int = 7, compute: bool = False
) -> TraceBuilder:
    """Steps of 100 ms on the CPU, those in `slow` longer by `late` us, in the loader or in ops."""
    builder = TraceBuilder(None)
    at = 0.0
    for number in range(steps):
        more = late if number in slow else 0
        builder.step(number, at, STEP + more)
        wait = 10_000 + (0 if compute else more)
        builder.loader(at, wait)
        builder.op("aten::linear", at + wait, STEP + more - wait)
        at += STEP + more
    return builder


def test_fires_and_names_the_cause_that_differs() -> None:
    found = judged(RULE, world())
    assert found.finding.saving.claims.total_ns == pytest.approx(100_000_000, abs=2)
    assert (found.severity, found.confidence) == (Severity.MEDIUM, Confidence.MEDIUM)
    assert found.finding.why == (
        "1 step of 6 (#4) takes up to 2.0 times the median of 100 ms; 100 ms of the difference is `input`."
    )


@pytest.mark.parametrize(("usual", "state"), [(30_000, State.CLEAR), (20_000, State.FIRED)])
def test_a_loader_that_is_always_late_is_not_told_twice(usual: float, state: State) -> None:
    builder, at = TraceBuilder(None), 0.0
    for number in range(7):
        wait = usual + (100_000 if number == 4 else 0)
        builder.step(number, at, STEP + wait - usual)
        builder.loader(at, wait, workers=2)
        builder.op("aten::linear", at + wait, STEP - usual)
        at += STEP + wait - usual
    result = run(RULE, builder)
    assert result.state is state
    assert "DL001" in result.reason or state is State.FIRED


def test_more_work_is_no_saving() -> None:
    found = judged(RULE, world(compute=True))
    assert (found.severity, found.ns_per_step) == (Severity.INFO, 0)
    assert "work of the model itself" in found.finding.why


def test_accumulated_gradients_are_no_loss() -> None:
    """Every fourth step updates: longer by design, whatever OP001 says of the update."""
    builder, at = TraceBuilder(None), 0.0
    for number in range(9):
        more = 80_000 if number % 4 == 3 else 0
        builder.step(number, at, STEP + more)
        builder.op("aten::linear", at, STEP - 100)
        if more:
            builder.optimizer(at + STEP - 50, more)
        at += STEP + more
    found = judged(RULE, builder)
    assert (found.severity, found.ns_per_step) == (Severity.INFO, 0)
    assert "gradients are accumulated" in found.finding.why


def test_a_long_first_step_is_expected() -> None:
    assert run(RULE, world(slow=(0,))).state is State.CLEAR


@pytest.mark.parametrize(("late", "state"), [(49_000, State.CLEAR), (51_000, State.FIRED)])
def test_boundary(late: float, state: State) -> None:
    assert run(RULE, world(late=late)).state is state


def test_few_steps_cannot_tell() -> None:
    assert run(RULE, world(steps=5)).state is State.CANNOT_TELL


def test_guessed_steps_cannot_tell() -> None:
    builder = world()
    builder.events = [event for event in builder.events if not event["name"].startswith("ProfilerStep")]
    result = run(RULE, builder)
    assert result.state is State.CANNOT_TELL
    assert "prof.step()" in result.reason


def test_time_and_process_numbers_do_not_matter() -> None:
    plain = judged(RULE, world())
    other = judged(RULE, renamed(shifted(world(), 1e12), 1_000))
    assert (other.ns_per_step, other.identity) == (plain.ns_per_step, plain.identity)
