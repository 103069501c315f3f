"""ME003: the allocator holds 60 GB for 20 GB of tensors."""

from __future__ import annotations

import pytest

from analyzer.finding import Severity, State
from programs.memory import GB, world
from rules.memory.fragmentation import RULE
from running.one_rule import judged, run


def test_fires_without_a_saving_in_time() -> None:
    found = judged(RULE, world([20 * GB] * 3, [60 * GB] * 3))
    assert (found.severity, found.ns_per_step) == (Severity.INFO, 0)
    assert "(71 % of the card), 3.0 times" in found.finding.why


@pytest.mark.parametrize(("reserved", "state"), [(39 * GB, State.CLEAR), (41 * GB, State.FIRED)])
def test_boundary_of_times(reserved: int, state: State) -> None:
    assert run(RULE, world([20 * GB] * 3, [reserved] * 3)).state is state


@pytest.mark.parametrize(("reserved", "state"), [(25 * GB, State.CLEAR), (26 * GB, State.FIRED)])
def test_boundary_of_capacity(reserved: int, state: State) -> None:
    told = run(RULE, world([GB] * 3, [reserved] * 3))
    assert told.state is state
    assert state is State.FIRED or "25.0 times what tensors take at the peak, 29 % of the card" in told.reason


def test_cannot_tell_without_totals_or_capacity() -> None:
    assert run(RULE, world([GB] * 3, totals=False)).state is State.CANNOT_TELL
    assert run(RULE, world([GB] * 3, device={})).state is State.CANNOT_TELL
