"""CO008: pipelines with few microbatches, with many, and with a stage that works longer."""

from __future__ import annotations

import pytest

from analyzer.engine import RuleRun, run_rules
from analyzer.engine.trust import grade
from analyzer.facts import Facts
from analyzer.finding import State
from jobs.among import among
from jobs.gloo_stages import gpipe, served
from jobs.programs import MS, Plan
from jobs.traces import facts_of
from rules.communication.exposed import RULE as EXPOSED
from rules.communication.pipeline_bubble import RULE


def ranks(
    *, pp: int = 3, microbatches: int = 3, stage: float = 1.0, late: int = 0, dp: int = 1, recorder: str = "megatron"
) -> tuple[Facts, ...]:
    """A pipeline of so many stages and microbatches; stage 1 works so many times as long."""
    plan = Plan(
        pp=pp, dp=dp, steps=3, microbatches=microbatches, layers=1,
        stage={1: stage} if stage > 1 else {}, python={1: late} if late else {},
    )  # fmt: skip
    return facts_of(plan, recorder)


def run(first: Facts, *others: Facts) -> RuleRun:
    facts = among(first, *others)
    (result,) = run_rules(facts, (RULE,), grade(facts))
    return result


def test_few_microbatches_leave_ranks_waiting() -> None:
    (finding,) = run(*ranks()).findings
    assert "ranks of a pipeline of 3 stages wait for messages" in finding.why
    code = finding.fix[0].code
    assert "Schedule1F1B(stage, n_microbatches=12, loss_fn=loss_fn)" in code
    # Nothing in these traces tells which library runs the pipeline.
    assert "--micro-batch-size" in code
    assert 'ds_config["gradient_accumulation_steps"] = 12' in code
    assert finding.saving.claims.total_ns > 0


def test_a_pipeline_with_many_microbatches_is_not_told_to_have_as_many() -> None:
    every = ranks(pp=3, microbatches=12, stage=2.0)
    facts = among(*every)
    assert facts.job is not None
    assert facts.job.job.pipeline is not None
    assert facts.job.job.pipeline.messages == 12
    (result,) = run_rules(facts, (RULE,), grade(facts))
    (finding,) = result.findings
    balance, more = finding.fix
    assert balance.code == "Move layers from stage 1 to others."
    assert "n_microbatches=2 * n_microbatches" in more.code
    assert more.note is not None
    assert more.note.startswith(
        "A rank sends 12 messages to the next a step: as many micro-batches at most, of 3 stages."
    )


def test_stages_that_wait_for_messages_are_not_told_to_be_as_late_as_others() -> None:
    every = ranks()
    facts = among(*every)
    assert facts.job is not None
    assert facts.job.row is not None
    assert 2 * (facts.job.row.exposed_waiting_least_ns or 0) > (facts.job.row.exposed_ns or 0)
    (result,) = run_rules(facts, (EXPOSED,), grade(facts))
    (finding,) = result.findings
    assert "Schedule1F1B" in finding.fix[0].code


def test_many_microbatches_are_clear() -> None:
    assert run(*ranks(pp=2, microbatches=12)).state is State.CLEAR


def test_the_stage_that_sets_the_pace_comes_first() -> None:
    (finding,) = run(*ranks(stage=2.0)).findings
    assert finding.fix[0].code == "Move layers from stage 1 to others."


def test_a_late_rank_comes_first() -> None:
    found = run(*ranks(dp=2, pp=2, late=20 * MS))
    assert (found.findings, found.state) == ((), State.CLEAR)


def test_no_pipeline_and_ranks_that_are_not_here_are_not_judged() -> None:
    assert run(*facts_of(Plan(program="ddp", dp=2, steps=2))).state is State.NOT_APPLICABLE
    assert run(*ranks()[:2]).state is State.NOT_APPLICABLE


def test_a_chain_that_nobody_calls_a_pipeline_is_told_with_less_confidence() -> None:
    (finding,) = run(*ranks(recorder="deepspeed, torch 2.4")).findings
    assert finding.confidence.value == "low"


@pytest.mark.parametrize("serves", [True, False])
def test_a_server_and_its_worker_are_no_pipeline(serves: bool) -> None:
    ranks = served(1) if serves else gpipe((10.0, 10.0), 1)
    for first in (0, 1):
        facts = [Facts(one.trace()) for one in ranks]
        result = run(facts[first], *(one for place, one in enumerate(facts) if place != first))
        assert result.state is (State.CANNOT_TELL if serves else State.FIRED), result.reason


@pytest.mark.parametrize("on_device", [True, False])
def test_the_stage_that_sets_the_pace_is_told_what_balancing_it_saves(on_device: bool) -> None:
    traces = ranks(stage=2.0) if on_device else tuple(Facts(one.trace()) for one in gpipe((5.0, 30.0), 8))
    facts = among(traces[1], traces[0], *traces[2:])
    (result,) = run_rules(facts, (RULE,), grade(facts))
    (finding,) = result.findings
    assert facts.job is not None
    assert facts.job.slow_stage is not None
    saved = facts.job.slow_stage.waited_ns_per_step * facts.steps.count
    claimed = finding.saving.kernel_ns if on_device else finding.saving.claims.total_ns
    assert claimed == pytest.approx(saved, rel=0.02)
    assert "in the mean" in finding.saving.basis
    others = run(traces[0], *traces[1:]).findings[0]
    assert "what this rank waits" in others.saving.basis
