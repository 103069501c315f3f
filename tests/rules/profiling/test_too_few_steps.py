"""PG003: two steps."""

from __future__ import annotations

from typing import Any

import pytest

from analyzer.finding import Severity, State
from building.builders import TraceBuilder
from rules.profiling.too_few_steps import RULE
from running.one_rule import judged, run


def steady(steps: int = 3, dur: float = 10_000, advisor: dict[str, Any] | None = None) -> TraceBuilder:
    """Marked steps, each with one kernel that fills it."""
    builder = TraceBuilder(advisor=advisor)
    for number in range(steps):
        at = number * dur
        builder.step(number, at, dur).launch(at, kernel_start=at + 10, kernel_dur=dur - 10)
    return builder


def test_fires_with_the_number() -> None:
    found = judged(RULE, steady(2))
    assert (found.severity, found.ns_per_step) == (Severity.INFO, 0)
    assert "Only 2 steps can be used" in found.finding.why


@pytest.mark.parametrize(("steps", "state"), [(2, State.FIRED), (3, State.CLEAR)])
def test_boundary(steps: int, state: State) -> None:
    assert run(RULE, steady(steps)).state is state


def test_quiet_without_marks_which_is_another_symptom() -> None:
    builder = TraceBuilder()
    builder.launch(0, kernel_start=10, kernel_dur=900)
    assert run(RULE, builder).state is State.NOT_APPLICABLE


@pytest.mark.parametrize(
    ("advisor", "said", "never"), [(None, "schedule(", "--active"), ({"command": "collect"}, "--active 6", "schedule(")]
)
def test_what_recorded_it_is_told_how_to_record_more(advisor: dict[str, Any] | None, said: str, never: str) -> None:
    fixes = judged(RULE, steady(2, advisor=advisor)).finding.fix
    assert all(said in fix.code and never not in fix.code for fix in fixes), fixes
