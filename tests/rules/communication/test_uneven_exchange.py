"""CO009: ranks with experts, one of which get more tokens than the others."""

from __future__ import annotations

from analyzer.engine import RuleRun, run_rules
from analyzer.engine.trust import grade
from analyzer.facts import Facts
from analyzer.finding import State
from jobs.among import among
from jobs.programs import MS, Plan
from jobs.traces import facts_of
from rules.communication.uneven_exchange import RULE


def ranks(*, tokens: float = 3.0, python: int = 0) -> tuple[Facts, ...]:
    """Two groups of two ranks; the experts of rank 1 get so many times the tokens."""
    plan = Plan(dp=4, ep=2, steps=3, microbatches=2, experts={1: tokens}, python={1: python} if python else {})
    return facts_of(plan)


def run(first: Facts, *others: Facts) -> RuleRun:
    facts = among(first, *others)
    (result,) = run_rules(facts, (RULE,), grade(facts))
    return result


def test_the_rank_with_the_most_tokens_is_named() -> None:
    every = ranks()
    (finding,) = run(*every).findings
    assert finding.why.startswith("Rank 1 gets 1.5 times the mean of its group in")
    (own,) = run(every[1], *every[:1], *every[2:]).findings
    assert own.saving.kernel_ns > 0


def test_what_one_rank_gets_more_is_gained_only_as_far_as_others_need_not_do_it() -> None:
    """Of a group of two ranks half of it: the other one has to do the rest."""
    every = ranks()
    facts = among(every[1], *every[:1], *every[2:])
    (own,) = run(every[1], *every[:1], *every[2:]).findings
    assert facts.job is not None
    assert facts.job.late is not None
    late = facts.job.late
    assert own.saving.kernel_ns <= 0.5 * late.waited_ns_per_step * facts.steps.count + 1
    assert "Shared evenly what it gets more goes to the others" in own.why


def test_equal_shares_are_clear() -> None:
    found = run(*ranks(tokens=1.0))
    assert (found.findings, found.state) == ((), State.CLEAR)


def test_uneven_shares_that_nobody_waits_for_are_clear() -> None:
    found = run(*ranks(tokens=1.6, python=60 * MS))
    assert (found.findings, found.state) == ((), State.CLEAR)
