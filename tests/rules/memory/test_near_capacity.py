"""ME002: tensors take 80 of an 85 GB card at the peak."""

from __future__ import annotations

import pytest

from analyzer.finding import Severity, State
from building.builders import TraceBuilder
from programs.memory import GB, world
from rules.memory.near_capacity import RULE
from running.one_rule import judged, run


def test_fires_as_a_risk_without_a_saving() -> None:
    found = judged(RULE, world([60 * GB, 80 * GB, 70 * GB]))
    assert (found.severity, found.ns_per_step) == (Severity.INFO, 0)
    assert "tensors take 75 GiB (94 %)" in found.finding.why


def test_a_full_cache_with_little_in_it_is_said_to_be_one() -> None:
    found = judged(RULE, world([10 * GB] * 3, [84 * GB] * 3))
    assert "cache that can be given back" in found.finding.caveats[0]


def test_quiet_with_room_left() -> None:
    assert run(RULE, world([10 * GB] * 3, [70 * GB] * 3)).state is State.CLEAR


@pytest.mark.parametrize(("peak", "state"), [(0.899, State.CLEAR), (0.901, State.FIRED)])
def test_boundary_of_allocated(peak: float, state: State) -> None:
    assert run(RULE, world([int(peak * 85 * GB)] * 3)).state is state


@pytest.mark.parametrize(("peak", "state"), [(0.979, State.CLEAR), (0.981, State.FIRED)])
def test_boundary_of_reserved(peak: float, state: State) -> None:
    assert run(RULE, world([GB] * 3, [int(peak * 85 * GB)] * 3)).state is state


def test_cannot_tell_without_totals_capacity_or_memory_events() -> None:
    assert "no totals" in run(RULE, world([GB] * 3, totals=False)).reason
    assert "deviceProperties" in run(RULE, world([GB] * 3, device={})).reason
    builder = TraceBuilder().step(0, 0, 100)
    builder.launch(0, kernel_start=10, kernel_dur=80)
    result = run(RULE, builder)
    assert (result.state, result.reason) == (State.CANNOT_TELL, "needs profile_memory=True")
