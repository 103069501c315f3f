"""What sending less, or beside compute, may save: no waiting for other ranks, as far as these tell it."""

from __future__ import annotations

import pytest

from analyzer.engine import run_rules
from analyzer.engine.trust import grade
from analyzer.facts import Facts
from analyzer.finding import Confidence
from analyzer.rule import Rule
from building.builders import TraceBuilder
from jobs.among import among
from jobs.programs import MS, Plan
from jobs.traces import facts_of
from rules.communication.exposed import RULE as EXPOSED
from rules.communication.poor_overlap import RULE as OVERLAP

ALL_REDUCE = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"


def rank(number: int, compute_us: float) -> Facts:
    """Steps of 10 ms: compute, then an all-reduce that ends with the step on every rank."""
    builder = TraceBuilder(top={"distributedInfo": {"rank": number, "world_size": 2, "backend": "nccl"}})
    for index in range(4):
        at = index * 10_000
        builder.step(index, at, 10_000)
        builder.launch(at, kernel_start=at + 10, kernel_dur=compute_us - 10, name="gemm")
        builder.launch(
            at + 20, kernel_start=at + compute_us, kernel_dur=10_000 - compute_us, name=ALL_REDUCE, stream=20
        )
    return Facts(builder.trace())


def saved_ms(rule: Rule, facts: Facts) -> float:
    """What a rule's finding claims a step."""
    (result,) = run_rules(facts, (rule,), grade(facts))
    (found,) = result.findings
    return facts.steps.per_step(found.saving.claims.total_ns) / MS


@pytest.mark.parametrize("rule", [EXPOSED, OVERLAP])
def test_on_the_rank_that_others_wait_for_what_it_sends_comes_last(rule: Rule) -> None:
    """Its own report names first what makes it late."""
    waiting, late = among(rank(0, 5_000), rank(1, 8_000)), among(rank(1, 8_000), rank(0, 5_000))
    sure = {}
    for facts in (waiting, late):
        (result,) = run_rules(facts, (rule,), grade(facts))
        sure[facts is late] = result.findings[0].confidence
    assert sure[True] is Confidence.LOW
    assert sure[False] is not Confidence.LOW


@pytest.mark.parametrize("stage", [1, 0])
def test_in_the_stage_that_sets_the_pace_balance_comes_first(stage: int) -> None:
    every = list(facts_of(Plan(program="megatron", pp=3, steps=4, stage={1: 1.8})))
    every.insert(0, every.pop(stage))
    together = among(*every)
    (result,) = run_rules(together, (EXPOSED,), grade(together))
    assert (result.findings[0].confidence is Confidence.LOW) is (stage == 1)


@pytest.mark.parametrize("rule", [EXPOSED, OVERLAP])
def test_waiting_for_a_late_rank_is_not_saved_by_sending_less(rule: Rule) -> None:
    assert saved_ms(rule, among(rank(0, 5_000), rank(1, 8_000))) == pytest.approx(2.0, rel=0.02)
    # The late one itself waits for nobody, and of one rank alone nothing is known.
    assert saved_ms(rule, among(rank(0, 8_000), rank(1, 5_000))) == pytest.approx(2.0, rel=0.02)
    assert saved_ms(rule, rank(0, 5_000)) == pytest.approx(5.0, rel=0.02)


def test_with_nobody_late_what_is_known_to_be_waiting_is_left_out_all_the_same() -> None:
    """Where each step waits for another rank."""
    together = among(*facts_of(Plan(program="ddp", dp=4, hiccup=20 * MS)))
    exposed = together.steps.per_step(together.communication.collectives.exposed.total_ns) / MS
    assert saved_ms(EXPOSED, together) < 0.15 * exposed


def test_what_stages_wait_more_micro_batches_shorten() -> None:
    first, *others = facts_of(Plan(program="megatron", pp=4, microbatches=2))
    together = among(first, *others)
    exposed = together.steps.per_step(together.communication.collectives.exposed.total_ns) / MS
    assert saved_ms(EXPOSED, together) == pytest.approx(exposed)
