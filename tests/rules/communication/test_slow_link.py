"""CO007: three groups of two ranks, one of which moves the same data more slowly."""

from __future__ import annotations

import pytest

from analyzer.engine import RuleRun, run_rules
from analyzer.engine.trust import grade
from analyzer.facts import Facts
from analyzer.finding import State
from jobs.among import among
from jobs.programs import Plan
from jobs.traces import facts_of
from rules.communication.slow_link import RULE


def ranks(*, slow: float = 4.0, groups: int = 3, seed: int = 1) -> tuple[Facts, ...]:
    """So many tensor-parallel groups of two ranks; the link of the last one takes so many times as long."""
    link = {(2 * groups - 2, 2 * groups - 1): slow}
    return facts_of(Plan(dp=groups, tp=2, steps=3, microbatches=2, link=link, seed=seed))


def run(first: Facts, *others: Facts) -> RuleRun:
    facts = among(first, *others)
    (result,) = run_rules(facts, (RULE,), grade(facts))
    return result


def test_the_slow_link_is_named_with_what_the_job_loses() -> None:
    every = ranks()
    found = run(*every)
    (finding,) = found.findings
    assert finding.why.startswith(
        "Group 3 (ranks 4, 5) takes 3.4 times as long for the same all_reduce as equal ones do."
    )
    assert "ranks 4,5" in finding.fix[0].note
    # A rank of another group loses the same by it.
    assert finding.saving.claims.total_ns > 0


def test_equal_links_are_clear() -> None:
    assert run(*ranks(slow=1.0)).state is State.CLEAR


def test_two_groups_cannot_tell() -> None:
    found = run(*ranks(groups=2))
    assert (found.findings, found.state) == ((), State.CANNOT_TELL)


def test_one_rank_cannot_tell() -> None:
    assert run(ranks()[0]).state is State.CANNOT_TELL


@pytest.mark.parametrize(("slow", "fires"), [(1.25, False), (2.2, True)])
def test_what_costs_little_is_left_alone(slow: float, fires: bool) -> None:
    assert bool(run(*ranks(slow=slow)).findings) is fires
