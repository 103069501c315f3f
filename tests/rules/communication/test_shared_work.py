"""CO003 of a rank with larger batches: others get what is more, so that of two half comes back; a slow device has none."""

from __future__ import annotations

from typing import Any

import pytest

from analyzer.engine import run_rules
from analyzer.engine.trust import grade
from jobs.among import among
from jobs.programs import Plan
from jobs.traces import facts_of
from rules.communication.straggler import RULE


@pytest.mark.parametrize(
    ("ranks", "fault", "part"),
    [(2, {"tokens": {1: 1.5}}, 1 / 2), (6, {"tokens": {1: 1.5}}, 5 / 6), (2, {"device": {1: 1.5}}, 1.0)],
    ids=["two", "six", "a slow device"],
)
@pytest.mark.parametrize("late", [True, False])
def test_what_is_more_to_compute_is_shared_not_gone(ranks: int, fault: dict[str, Any], part: float, late: bool) -> None:
    every = list(facts_of(Plan(program="ddp", dp=ranks, steps=5, **fault)))
    every.insert(0, every.pop(1 if late else 0))
    facts = among(*every)
    (result,) = run_rules(facts, (RULE,), grade(facts))
    (found,) = result.findings
    assert facts.job is not None
    assert facts.job.late is not None
    claimed = facts.steps.per_step(found.saving.claims.total_ns + found.saving.kernel_ns)
    assert claimed == pytest.approx(part * facts.job.late.waited_ns_per_step, rel=0.2)
    assert ("shared among them" in found.saving.basis) is (part < 1)
