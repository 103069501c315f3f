"""CO003: two ranks of one job; rank 1 computes longer, rank 0 waits for it inside the all-reduce."""

from __future__ import annotations

from typing import Any

import pytest

from analyzer.engine import Judged, RuleRun, judge, run_rules
from analyzer.engine.trust import grade
from analyzer.facts import Facts
from analyzer.finding import Severity, State
from building.builders import TraceBuilder
from jobs.among import among
from jobs.gloo_stages import gpipe
from jobs.programs import MS, Plan
from jobs.traces import facts_of
from rules.communication.exposed import RULE as EXPOSED
from rules.communication.straggler import RULE

ALL_REDUCE = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"


def rank(
    number: int,
    compute_us: float,
    *,
    steps: int = 4,
    collective: str = ALL_REDUCE,
    clock_us: float = 0,
    world: int = 2,
    kernels: int = 1,
) -> Facts:
    """Steps of 10 ms: compute, then an all-reduce that ends with the step on every rank."""
    builder = TraceBuilder(top={"distributedInfo": {"rank": number, "world_size": world, "backend": "nccl"}})
    for index in range(steps):
        at = clock_us + index * 10_000
        builder.step(index, at, 10_000)
        each = (compute_us - 10) / kernels
        for place in range(kernels):
            builder.launch(at, kernel_start=at + 10 + place * each, kernel_dur=each, name="gemm")
        builder.launch(
            at + 20, kernel_start=at + compute_us, kernel_dur=10_000 - compute_us, name=collective, stream=20
        )
    return Facts(builder.trace())


def ranks(*, late_us: float) -> tuple[Facts, Facts]:
    """Rank 0 computes for half of each step, rank 1 for as long as given."""
    return rank(0, 5_000), rank(1, late_us)


def run(first: Facts, *others: Facts) -> RuleRun:
    facts = among(first, *others)
    (result,) = run_rules(facts, (RULE,), grade(facts))
    return result


def test_the_waiting_rank_names_the_late_one_and_bounds_its_own_wait() -> None:
    facts = among(rank(0, 5_000), rank(1, 8_000, clock_us=1e9))
    trust = grade(facts)
    (found,) = judge(facts, run_rules(facts, (RULE,), trust), trust)
    assert found.ns_per_step == pytest.approx(3_000_000, rel=0.001)
    assert found.finding.why == (
        "Rank 1 arrives last in 100 % of 4 matched steps; the others wait 3.0 ms a step for it (30 %). "
        "It spends 3.0 ms more a step computing. Why is not clear: it computes longer; with no shapes recorded "
        "(record_shapes=True) a slower device and more work look alike. This rank waits for it."
    )


def on(first: Facts, *others: Facts) -> Judged:
    """The finding on the first of the ranks, judged."""
    facts = among(first, *others)
    trust = grade(facts)
    (found,) = judge(facts, run_rules(facts, (RULE,), trust), trust)
    return found


def test_on_the_late_rank_the_saving_is_what_the_job_loses() -> None:
    late, waiting = on(rank(1, 8_000), rank(0, 5_000)), on(rank(0, 5_000), rank(1, 8_000))
    assert "This is that rank." in late.finding.why
    assert late.ns_per_step == pytest.approx(3_000_000, rel=0.001)
    assert late.ns_per_step == pytest.approx(waiting.ns_per_step, rel=0.001)
    assert late.severity is waiting.severity is Severity.HIGH
    # Its device computes longer: no idle time is claimed.
    assert late.finding.saving.claims.total_ns == 0


def test_what_makes_it_late_is_what_it_claims() -> None:
    late, other = waiting_for_data(1, 3_000), waiting_for_data(0, 0)
    found = on(late, other)
    assert found.ns_per_step == pytest.approx(3_000_000, rel=0.01)
    assert found.finding.saving.kernel_ns == 0
    claims = found.finding.saving.claims
    assert (claims & late.time.waterfall.owned("input")) == claims


def waiting_for_data(number: int, loader_us: float) -> Facts:
    """Steps of 10 ms: waiting for a batch, 4 ms of compute, an all-reduce up to the end."""
    builder = TraceBuilder(top={"distributedInfo": {"rank": number, "world_size": 2, "backend": "nccl"}})
    for index in range(4):
        at = index * 10_000
        builder.step(index, at, 10_000)
        if loader_us:
            builder.loader(at, loader_us)
        builder.launch(at + loader_us, kernel_start=at + loader_us + 10, kernel_dur=3_990, name="gemm")
        begin = at + loader_us + 4_000
        builder.launch(
            at + loader_us + 20, kernel_start=begin, kernel_dur=at + 10_000 - begin, name=ALL_REDUCE, stream=20
        )
    return Facts(builder.trace())


def test_waiting_that_compute_hides_costs_the_job_nothing() -> None:
    def hidden(number: int, compute_us: float) -> Facts:
        builder = TraceBuilder(top={"distributedInfo": {"rank": number, "world_size": 2, "backend": "nccl"}})
        for index in range(4):
            at = index * 10_000
            builder.step(index, at, 10_000)
            builder.launch(at, kernel_start=at + 10, kernel_dur=9_980, name="gemm")
            dur = 9_990 - compute_us
            builder.launch(at + 20, kernel_start=at + compute_us, kernel_dur=dur, name=ALL_REDUCE, stream=20)
        return Facts(builder.trace())

    assert run(hidden(1, 8_000), hidden(0, 5_000)).state is State.CLEAR


def test_the_job_is_no_faster_than_its_second_latest_rank() -> None:
    found = on(rank(2, 9_000, world=3), rank(0, 5_000, world=3), rank(1, 7_000, world=3))
    assert found.ns_per_step == pytest.approx(2_000_000, rel=0.001)
    assert "the others wait 2.0 ms a step for it" in found.finding.why


@pytest.mark.parametrize(("compute_us", "state"), [(5_900, State.CLEAR), (6_100, State.FIRED)])
def test_boundary(compute_us: float, state: State) -> None:
    assert run(rank(0, 5_000), rank(1, compute_us)).state is state


def test_of_ranks_that_are_late_by_turns_none_is_named() -> None:
    def alternating(number: int) -> Facts:
        builder = TraceBuilder(top={"distributedInfo": {"rank": number}})
        for index in range(4):
            at, compute = index * 10_000, 8_000 if index % 2 == number else 5_000
            builder.step(index, at, 10_000)
            builder.launch(at, kernel_start=at + 10, kernel_dur=compute - 10, name="gemm")
            builder.launch(at + 20, kernel_start=at + compute, kernel_dur=10_000 - compute, name=ALL_REDUCE, stream=20)
        return Facts(builder.trace())

    (found,) = run(alternating(0), alternating(1)).findings
    assert found.title == "Each step waits for another rank"
    assert "Rank" not in found.why
    assert "it takes 1.5 ms less (15 %)" in found.why


@pytest.mark.parametrize(("limit", "state"), [(0.74, State.FIRED), (0.76, State.CLEAR)])
def test_boundary_of_consistency(limit: float, state: State) -> None:
    """Rank 1 is late in the first two steps and in the last."""

    def seldom(number: int) -> Facts:
        builder = TraceBuilder(top={"distributedInfo": {"rank": number, "world_size": 2, "backend": "nccl"}})
        for index in range(4):
            at = index * 10_000
            compute = 9_000 if number == 1 and index != 2 else 5_000
            builder.step(index, at, 10_000)
            builder.launch(at, kernel_start=at + 10, kernel_dur=compute - 10, name="gemm")
            builder.launch(at + 20, kernel_start=at + compute, kernel_dur=10_000 - compute, name=ALL_REDUCE, stream=20)
        return Facts(builder.trace())

    facts = among(seldom(0), seldom(1))
    (result,) = run_rules(facts, (RULE,), grade(facts), limits={"CO003": {"min_consistency_ratio": limit}})
    assert result.state is state
    assert state is State.FIRED or "late in most steps: the latest one in 75 % of 4" in result.reason


@pytest.mark.parametrize(("late", "state"), [(6, State.FIRED), (4, State.CLEAR)])
def test_a_stall_that_comes_every_few_steps_is_no_chance(late: int, state: State) -> None:
    """Of two ranks all six late steps fall to one by chance once in 32 times, all four once in eight."""

    def stalls(number: int) -> Facts:
        builder = TraceBuilder(top={"distributedInfo": {"rank": number, "world_size": 2, "backend": "nccl"}})
        for index in range(20):
            at = index * 10_000
            compute = 9_900 if number == 1 and index % 3 == 1 and index < 3 * late else 3_000
            builder.step(index, at, 10_000)
            builder.launch(at, kernel_start=at + 10, kernel_dur=compute - 10, name="gemm")
            builder.launch(at + 20, kernel_start=at + compute, kernel_dur=10_000 - compute, name=ALL_REDUCE, stream=20)
        return Facts(builder.trace())

    facts = among(stalls(0), stalls(1))
    (result,) = run_rules(facts, (RULE,), grade(facts))
    assert result.state is state, result.reason


def test_one_rank_alone_cannot_tell() -> None:
    result = run(rank(0, 5_000))
    assert result.state is State.CANNOT_TELL
    assert "advisor explain FOLDER" in result.reason


def test_other_collectives_cannot_be_matched() -> None:
    other = rank(1, 8_000, collective=ALL_REDUCE.replace("AllReduce", "AllGather"))
    assert run(rank(0, 5_000), other).state is State.CANNOT_TELL


@pytest.mark.parametrize(("kernels", "alone"), [(2, True), (1, False)])
def test_a_rank_that_runs_more_is_told_to_do_that_elsewhere(kernels: int, alone: bool) -> None:
    found = on(rank(0, 4_000), rank(1, 8_000, kernels=kernels))
    said = "\n".join(fix.code for fix in found.finding.fix)
    assert ("validation, metrics" in said) is alone
    assert ("nvidia-smi" in said) is not alone
    assert ("1 more `gemm` a step" in found.finding.why) is alone


@pytest.mark.parametrize("shapes", [True, False])
def test_without_a_device_nobody_is_told_to_look_at_one(shapes: bool) -> None:
    ranks = [on_a_host(number, each_us=1_000 if number == 0 else 2_000, shapes=shapes) for number in (0, 1)]
    said = "\n".join(fix.code for fix in on(*ranks).finding.fix)
    assert "nvidia-smi" not in said
    assert ("cores of its own" if shapes else "record_shapes=True") in said


def on_a_host(number: int, *, each_us: float, shapes: bool) -> Facts:
    """Steps of 10 ms: three products, then an all-reduce of gloo that ends with the step on every rank."""
    builder = TraceBuilder(None, top={"distributedInfo": {"rank": number, "world_size": 2, "backend": "gloo"}})
    args = {"Input Dims": [[64, 64], [64, 64]], "Input type": ["float", "float"]} if shapes else {}
    for index in range(4):
        at = index * 10_000
        builder.step(index, at, 10_000)
        for place in range(3):
            builder.op("aten::mm", at + place * each_us, each_us, **args)
        builder.event("gloo:all_reduce", "user_annotation", at + 3 * each_us, 10_000 - 3 * each_us, tid=77)
    return Facts(builder.trace())


def test_of_messages_to_nobody_known_it_is_said_what_the_traces_lack() -> None:
    facts = among(*(Facts(one.trace()) for one in gpipe((5.0, 5.0, 5.0), 2)))
    for rule, said in ((RULE, "which rank a message goes to"), (EXPOSED, "could not be matched (CO003)")):
        (result,) = run_rules(facts, (rule,), grade(facts))
        words = result.reason or result.findings[0].why
        assert said in words
        assert "every rank" not in words
    assert not any("all 3 ranks" in advice.code for advice in result.findings[0].fix)
    assert any("CO003 says what" in caveat for caveat in result.findings[0].caveats)


def unlike(number: int, late_us: tuple[float, ...]) -> Facts:
    """Steps in which rank 1 computes so much longer than rank 0."""
    builder = TraceBuilder(top={"distributedInfo": {"rank": number, "world_size": 2, "backend": "nccl"}})
    at = 0.0
    for index, late in enumerate(late_us):
        dur, compute = 10_000 + late, 5_000 + late * number
        builder.step(index, at, dur)
        builder.launch(at, kernel_start=at + 10, kernel_dur=compute - 10, name="gemm")
        builder.launch(at + 20, kernel_start=at + compute, kernel_dur=dur - compute, name=ALL_REDUCE, stream=20)
        at += dur
    return Facts(builder.trace())


@pytest.mark.parametrize(
    ("late_us", "said"),
    [
        ((2_000, 1_000, 90_000, 3_000, 2_000, 4_000, 0), "15 ms of each 25 ms step on average: most of that in few of them"),
        ((0, 0, 90_000, 0, 0, 0, 0), "13 ms of each 23 ms step on average: so few may be chance"),
        ((2_000, 1_000, 3_000, 3_000, 2_000, 4_000, 2_000), "for rank 1"),
    ],
    ids=["one long", "one", "all alike"],
)  # fmt: skip
def test_lateness_that_is_mostly_in_one_step_is_not_called_seldom(late_us: tuple[float, ...], said: str) -> None:
    facts = among(*(unlike(number, late_us) for number in range(2)))
    assert facts.job is not None
    assert said in facts.job.job.verdict.text


def evaluating(number: int, *, alone: bool, at_end: bool = False) -> Facts:
    """Rank 0 draws eight more batches in the third of eight steps, beside or in front of its own: alone, or both ranks do."""
    builder = TraceBuilder(top={"distributedInfo": {"rank": number, "world_size": 2, "backend": "nccl"}})
    at = 0.0
    for index in range(8):
        loops = index == 2 and (number == 0 or not alone)
        waits = index == (3 if at_end else 2) and number == 1 and alone
        dur = 50_000 if loops or waits else 10_000
        builder.step(index, at, dur)
        for batch in range(8 * loops):
            builder.loader(at + 4_000 * batch + 10_000 * at_end, 3_900)
        begin = at + 40_000 * (loops and not at_end)
        builder.loader(begin, 100)
        builder.launch(begin + 100, kernel_start=begin + 110, kernel_dur=4_890, name="gemm")
        ends = at + dur - 40_000 * (loops and at_end)
        builder.launch(
            begin + 120, kernel_start=begin + 5_000, kernel_dur=ends - begin - 5_000, name=ALL_REDUCE, stream=20
        )
        at += dur
    return Facts(builder.trace())


@pytest.mark.parametrize("at_end", [False, True])
def test_ranks_wait_for_one_that_evaluates_alone(at_end: bool) -> None:
    first, second = (evaluating(number, alone=True, at_end=at_end) for number in range(2))
    facts = among(second, first)
    assert facts.job is not None
    assert facts.job.job.verdict.text.startswith(
        "Rank 0 runs another loop in step 2, such as an evaluation: the others wait 40 ms for it (33 % of what they recorded)."
    )
    (found,) = run(second, first).findings
    assert found.why == (
        "Rank 0 runs another loop in step 2, such as an evaluation, which this rank does not: it waits for it, 40 ms in all "
        "(33 % of what was recorded)."
    )
    assert found.fix[0].code.startswith("Do seldom, on all ranks at once")
    result = run(first, second)
    assert (result.findings, result.state) == ((), State.CLEAR)


def test_nobody_waits_where_all_ranks_evaluate() -> None:
    facts = among(*(evaluating(number, alone=False) for number in range(2)))
    assert facts.job is not None
    assert (facts.job.job.other_loops, facts.job.job.verdict.held_up_by) == ((), "nobody")


def test_what_lies_in_steps_of_others_is_not_called_transferring() -> None:
    facts = among(evaluating(1, alone=True), evaluating(0, alone=True))
    (result,) = run_rules(facts, (EXPOSED,), grade(facts))
    (found,) = result.findings
    assert found.why.endswith(
        "5.6 ms of it a step lies in steps that other ranks leave out of their figures: whether it is waiting for those cannot be "
        "told."
    )


@pytest.mark.parametrize(
    ("plan", "advised"),
    [
        ({"lengths": 0.5}, "Give all ranks the same work in each step"),
        ({"hiccup": 12 * MS}, "gc.collect()"),
        ({"lengths": 0.02}, None),
        ({"lengths": 0.02, "python": {1: 12 * MS}}, "advisor explain"),
    ],
    ids=["sequences", "pauses", "even", "one rank"],
)
def test_where_each_step_waits_for_another_rank_the_work_of_each_step_is_to_be_even(
    plan: dict[str, Any], advised: str | None
) -> None:
    every = facts_of(Plan(program="ddp", dp=4, steps=8, **plan))
    found = run(every[0], *every[1:]).findings
    assert [one.fix[0].code for one in found if advised and advised in one.fix[0].code] == [
        one.fix[0].code for one in found
    ]
    assert bool(found) == (advised is not None)
    turned = [one for one in found if one.title == "Each step waits for another rank"]
    assert bool(turned) == (advised is not None and "python" not in plan)


@pytest.mark.parametrize("every", [6, 1])
def test_what_one_rank_does_every_so_many_steps_is_to_be_done_beside_training(every: int) -> None:
    ranks = facts_of(Plan(program="ddp", dp=2, steps=18, python={0: 40 * MS}, every=every, since=1))
    (found,) = run(*ranks).findings
    assert ("in one of every 6 steps" in found.why) == (every == 6)
    assert ("async_save" in found.fix[1].code) == (every == 6)


@pytest.mark.parametrize("every", [6, 1])
def test_more_work_that_comes_every_so_many_steps_is_a_loop_of_its_own(every: int) -> None:
    """A validation on one rank: the same kernels on larger shapes, in one step of several; in each step it is its samples."""
    ranks = facts_of(Plan(program="ddp", dp=2, steps=18, tokens={0: 4.0}, every=every, since=1))
    (found,) = run(*ranks).findings
    assert ("this rank alone runs: validation" in found.fix[1].code.replace("\n", " ")) is (every == 6)
    assert ("group samples by length" in found.fix[1].code) is (every == 1)


def test_not_applicable_without_collectives() -> None:
    builder = TraceBuilder()
    builder.step(0, 0, 1_000)
    builder.launch(0, kernel_start=10, kernel_dur=900)
    assert run(Facts(builder.trace())).state is State.NOT_APPLICABLE


@pytest.mark.parametrize(
    ("mine", "other", "said"),
    [
        (5_000, 8_000, "3.0 ms of it a step is waiting for rank 1 (CO003)."),
        (8_000, 5_000, "By the 2 ranks read it is for the most part transferring."),
    ],
)
def test_with_all_ranks_exposed_communication_says_what_it_is(mine: float, other: float, said: str) -> None:
    facts = among(rank(0, mine), rank(1, other))
    (result,) = run_rules(facts, (EXPOSED,), grade(facts))
    (found,) = result.findings
    assert found.why.endswith(said)
    assert found.fix[0].code.startswith("Speed up this rank first") == (mine > other)
    assert not any("all 2 ranks" in advice.code for advice in found.fix)
    assert not any("CO003" in caveat for caveat in found.caveats)


def test_one_rank_of_two_is_told_to_record_the_other() -> None:
    facts = rank(0, 5_000)
    (result,) = run_rules(facts, (EXPOSED,), grade(facts))
    (found,) = result.findings
    assert found.why.endswith("cannot tell waiting for another rank from transferring.")
    assert "all 2 ranks" in found.fix[0].code
