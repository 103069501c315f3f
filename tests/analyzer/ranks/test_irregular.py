"""What does not go wrong on one rank in every step: throttling, stalls, collections of garbage, tokens that differ, machines."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from analyzer.ranks.waiting.peers import Peers
from analyzer.ranks.waiting.regular import late_regularly
from analyzer.ranks.waiting.turns import by_turns
from jobs.layout import Noise
from jobs.merged import blamed, told
from jobs.programs import MS

DDP: dict[str, Any] = {"program": "ddp", "dp": 4, "steps": 8}
MOE: dict[str, Any] = {"program": "megatron", "dp": 4, "ep": 4, "microbatches": 2}
THROTTLED: dict[str, dict[str, Any]] = {
    "ddp": DDP,
    "fsdp2": {"program": "fsdp2", "dp": 4, "steps": 8},
    "1f1b": {"program": "eager", "dp": 2, "pp": 2, "microbatches": 6, "layers": 1, "steps": 8, "buffered": True},
    "1f1b of one rank a stage": {
        "program": "eager", "pp": 4, "microbatches": 6, "layers": 1, "steps": 8, "buffered": True,
    },
}  # fmt: skip


@pytest.mark.parametrize("kind", THROTTLED)
def test_a_device_that_is_throttled_is_late_since_then(kind: str) -> None:
    job = told("titan", **THROTTLED[kind], device={1: 1.6}, since=3)
    assert [(one.rank, one.cause, one.since_step) for one in job.late] == [(1, "device", 3)], job.verdict.text


def test_a_loader_that_stalls_in_every_fourth_step_is_named() -> None:
    # The first step of a recording is none of the used ones where it is unlike the others.
    job = told("titan", program="ddp", dp=4, steps=16, loader={1: 40 * MS}, every=4, since=1)
    healthy = told("titan", program="ddp", dp=4, steps=16)
    assert blamed(job) == [(1, "host")], job.verdict.text
    assert [(one.steps_late, one.of) for one in job.late] == [(4, 16)]
    assert job.what_if[0].step_ns == pytest.approx(healthy.step_ns, rel=0.1)


def test_a_pause_in_each_sixth_step_of_one_of_two_ranks_is_told_with_its_distance() -> None:
    # Of two ranks chance gives one all three of three late steps once in four times: only their distances tell.
    job = told("titan", program="ddp", dp=2, steps=18, loader={0: 40 * MS}, every=6, since=1)
    healthy = told("titan", program="ddp", dp=2, steps=18)
    assert blamed(job) == [(0, "host")], job.verdict.text
    assert [(one.steps_late, one.of, one.every) for one in job.late] == [(3, 18, 6)]
    assert "late in 3 of 18 steps, every 6 steps" in job.verdict.text
    assert job.what_if[0].step_ns == pytest.approx(healthy.step_ns, rel=0.1)


@pytest.mark.parametrize(
    ("steps", "every"),
    [
        ((5, 11, 17), 6),
        ((0, 6, 12), 6),
        ((5, 10, 17), None),
        ((5, 11), None),
        ((0, 2, 4), None),
        ((1, 2, 3), None),
    ],
    ids=["each sixth", "from the first on", "no one distance", "two alone", "not throughout", "one after the other"],
)
def test_a_rank_is_late_regularly_where_its_steps_lie_equally_far_apart_throughout(
    steps: tuple[int, ...], every: int | None
) -> None:
    excess = np.random.default_rng(1).uniform(-1, 1, (2, 18)) * MS
    excess[0, list(steps)] += 40 * MS
    found = late_regularly(excess, 0)
    assert (None if found is None else found.every) == every
    if found is not None:
        assert found.chance_ratio < 0.05


def test_what_comes_to_another_rank_as_well_is_no_rank_s_own() -> None:
    excess = np.zeros((2, 18))
    excess[0, [5, 11, 17]] = 40 * MS
    assert late_regularly(excess, 0) is not None
    excess[1, [2, 8, 14]] = 40 * MS
    assert late_regularly(excess, 0) is None


def test_a_rank_that_is_late_in_each_step_besides_is_late_in_each() -> None:
    excess = np.zeros((2, 18))
    excess[0] = 15 * MS
    excess[0, [5, 11, 17]] = 40 * MS
    assert late_regularly(excess, 0) is None


def test_one_step_that_is_late_by_chance_is_no_stall() -> None:
    job = told("titan", program="ddp", dp=4, steps=16, loader={1: 40 * MS}, since=9, every=16)
    assert (blamed(job), job.verdict.held_up_by) == ([], "not clear"), job.verdict.text
    assert "Rank 1 is late in 1 of 16 steps" in job.verdict.text


@pytest.mark.parametrize("steps", [8, 16])
def test_a_pause_that_goes_round_is_nobodys_and_not_nothing(steps: int) -> None:
    job = told("titan", program="ddp", dp=4, steps=steps, hiccup=9 * MS)
    healthy = told("titan", program="ddp", dp=4, steps=steps)
    assert (blamed(job), job.verdict.held_up_by) == ([], "several ranks"), job.verdict.text
    assert "another rank" in job.verdict.text
    assert "Python" in job.verdict.text
    lost = job.step_ns - healthy.step_ns
    assert 0.8 * lost < job.what_if[0].saved_ns_per_step < 1.1 * lost


def test_sequences_of_all_lengths_hold_up_every_step_by_another_rank() -> None:
    job = told("titan", **DDP, lengths=0.3)
    healthy = told("titan", **DDP)
    chances = [Noise(1000 + rank) for rank in range(4)]
    mean = sum(1 + 0.3 * chance() for chance in chances for _ in range(8)) / 32
    even = told("titan", **DDP, tokens=dict.fromkeys(range(4), mean))
    assert job.step_ns > 1.1 * healthy.step_ns
    assert (blamed(job), job.verdict.held_up_by) == ([], "several ranks"), job.verdict.text
    assert "another rank, mostly for more work (1.1 to 1.8 times as much to compute" in job.verdict.text
    assert job.what_if[0].ideal == "the same work shared evenly"
    assert job.what_if[0].step_ns == pytest.approx(even.step_ns, rel=0.05)
    assert told("titan", **DDP, lengths=0.02).verdict.held_up_by == "nobody"


def test_a_rank_that_always_gets_more_is_told_among_sequences_of_all_lengths() -> None:
    job = told("titan", **DDP, lengths=0.2, tokens={1: 1.6})
    assert blamed(job) == [(1, "imbalance")], job.verdict.text


def test_a_slow_device_among_sequences_of_all_lengths_is_never_called_more_work() -> None:
    job = told("titan", **DDP, lengths=0.2, device={1: 1.8})
    assert [rank for rank, _ in blamed(job)] == [1], job.verdict.text
    assert {cause for _, cause in blamed(job)} <= {"device", "not clear"}, job.verdict.text


@pytest.mark.parametrize("seed", range(4))
def test_of_few_steps_of_other_lengths_chance_accuses_nobody(seed: int) -> None:
    """Eight ranks and six steps: some rank has more than its share of the long sequences."""
    excess = np.random.default_rng(seed).uniform(-1, 1, (8, 6)) * 10 * MS
    assert by_turns(_peers(excess))


@pytest.mark.parametrize("late", [(1,), (1, 3)])
def test_ranks_that_are_late_in_each_step_take_no_turns(late: tuple[int, ...]) -> None:
    excess = np.random.default_rng(1).uniform(-1, 1, (8, 6)) * MS
    excess[list(late)] += 10 * MS
    assert not by_turns(_peers(excess))


def test_a_rank_that_is_late_now_and_then_takes_no_turns() -> None:
    excess = np.random.default_rng(1).uniform(-1, 1, (8, 6)) * MS / 10
    excess[2, ::3] += 10 * MS
    assert not by_turns(_peers(excess))


def _peers(excess_ns: np.ndarray) -> Peers:
    none = np.zeros(0)
    label = np.zeros(len(excess_ns), dtype=np.int64)
    return Peers(none, none, none, none.astype(bool), label, tuple(range(excess_ns.shape[1])), excess_ns)


@pytest.mark.slow
def test_experts_that_are_sent_more_by_turns_are_nobodys_fault() -> None:
    job, even = told("titan", **MOE, routing=0.6), told("titan", **MOE)
    assert job.step_ns > 1.05 * even.step_ns
    assert blamed(job) == [], job.verdict.text
    assert told("titan", **MOE, routing=0.05).verdict.held_up_by == "nobody"


@pytest.mark.parametrize("fault", ["device", "python", "experts"])
def test_experts_that_are_sent_more_by_turns_hide_nobody(fault: str) -> None:
    plan: dict[str, Any] = {"device": {1: 1.6}, "python": {1: 12 * MS}, "experts": {1: 3.0}}
    cause = {"device": "device", "python": "host", "experts": "imbalance"}[fault]
    job = told("titan", **MOE, routing=0.3, **{fault: plan[fault]})
    assert [rank for rank, _ in blamed(job)] == [1], job.verdict.text
    assert {named for _, named in blamed(job)} <= {cause, "not clear"}, job.verdict.text
    assert fault == "device" or blamed(job) == [(1, cause)], job.verdict.text


@pytest.mark.slow
def test_one_machine_among_many_stages_that_sends_slowly_is_named_by_its_links() -> None:
    plan: dict[str, Any] = {"program": "eager", "pp": 8, "microbatches": 8, "layers": 1, "buffered": True}
    job = told("titan", **plan, per_host=1, per_node=1, node={3: 30.0})
    assert {one.ranks for one in job.links if one.slow} == {(2, 3), (3, 4)}
    assert (job.verdict.held_up_by, {cause for _, cause in blamed(job)}) == ("slow link", {"link"}), job.verdict.text
    healthy = told("titan", **plan, per_host=1)
    assert job.what_if[0].step_ns == pytest.approx(healthy.step_ns, rel=0.1)


def test_a_machine_that_is_in_every_group_has_no_equal() -> None:
    job = told("titan", program="ddp", dp=4, tp=2, per_host=2, per_node=2, node={1: 6.0})
    assert blamed(job) == [], job.verdict.text
    assert not any(one.slow for one in job.links)
    assert "whether their links are slow is not said" in job.verdict.text


def test_a_machine_whose_links_are_most_of_all_accuses_nobody_elses() -> None:
    job = told(
        "titan",
        program="eager",
        dp=2,
        pp=4,
        microbatches=6,
        layers=1,
        buffered=True,
        per_host=2,
        per_node=2,
        node={2: 30.0},
    )
    mine = {(2, 4), (3, 5), (4, 6), (5, 7)}
    assert {one.ranks for one in job.links if one.slow} <= mine
    assert {cause for _, cause in blamed(job)} <= {"link"}, job.verdict.text
    assert job.verdict.held_up_by != "nobody" or "links" in job.verdict.text, job.verdict.text
