"""CO003 where several ranks are equally late: each alone costs nothing."""

from __future__ import annotations

from typing import Any

import pytest

from analyzer.engine import RuleRun, run_rules
from analyzer.engine.trust import grade
from analyzer.facts import Facts
from analyzer.finding import State
from analyzer.ranks.document import Job
from jobs.among import among
from jobs.merged import told
from jobs.programs import MS, Plan
from jobs.traces import facts_of
from rules.communication.straggler import RULE

TWO: dict[str, Any] = {"program": "ddp", "dp": 6, "steps": 5}


def run(first: Facts, *others: Facts) -> RuleRun:
    facts = among(first, *others)
    (result,) = run_rules(facts, (RULE,), grade(facts))
    return result


def of(rank: int, **plan: Any) -> tuple[Facts, RuleRun]:
    """The rule on one of the ranks."""
    every = list(facts_of(Plan(**TWO, **plan)))
    every.insert(0, every.pop(rank))
    facts = among(*every)
    (result,) = run_rules(facts, (RULE,), grade(facts))
    return facts, result


@pytest.mark.parametrize(
    ("plan", "said", "advised"),
    [
        ({"device": {2: 1.5, 4: 1.5}}, "take longer", "nvidia-smi"),
        ({"tokens": {2: 1.5, 4: 1.5}}, "more work", "equal work"),
        ({"python": {2: 5 * MS, 4: 5 * MS}}, "late by Python on its host", "on their hosts"),
        ({"loader": {2: 5 * MS, 4: 5 * MS}}, "late by waiting for its data loader", "on their hosts"),
    ],
    ids=["device", "imbalance", "python", "loader"],
)
@pytest.mark.parametrize("rank", [2, 0])
def test_ranks_that_are_late_together_are_named_with_what_they_share(
    plan: dict[str, Any], said: str, advised: str, rank: int
) -> None:
    facts, found = of(rank, **plan)
    (finding,) = found.findings
    assert finding.title == "Several ranks are late together"
    assert finding.why.startswith("Ranks 2, 4 do more than the others in most steps")
    assert said in finding.why
    assert advised in finding.fix[0].code
    assert ("This is one of them." in finding.why) is (rank == 2)
    job: Job = facts.job.job  # type: ignore[union-attr]
    assert job.together is not None
    claimed = facts.steps.per_step(finding.saving.claims.total_ns + finding.saving.kernel_ns)
    assert claimed == pytest.approx(job.together.saved_ns_per_step, rel=0.25)


def test_of_one_that_is_late_alone_nothing_is_said_of_several() -> None:
    _, found = of(2, device={2: 1.6, 4: 1.2})
    (finding,) = found.findings
    assert finding.why.startswith("Rank 2 arrives last")


def test_nobody_is_late_together_in_a_healthy_job() -> None:
    _, found = of(0)
    assert (found.findings, found.state) == ((), State.CLEAR)


def test_ranks_that_take_turns_are_not_late_together() -> None:
    job = told("titan", program="fsdp", dp=6, lengths=0.5, steps=8)
    assert (job.together, job.turns is not None) == (None, True)


@pytest.mark.parametrize(("per_host", "of_one"), [(4, True), (8, False), (2, False)])
def test_all_ranks_of_one_machine_are_told_as_that(per_host: int, of_one: bool) -> None:
    job = told("titan", program="ddp", dp=8, device=dict.fromkeys(range(4, 8), 1.4), per_host=per_host)
    assert job.together is not None
    assert (job.together.ranks, job.together.one_machine) == ((4, 5, 6, 7), of_one)
    assert ("all ranks of one machine" in job.verdict.text) is of_one
