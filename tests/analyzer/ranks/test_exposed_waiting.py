"""What of the exposed time in collectives is waiting: all that is not transfer, and no more than is waited."""

from __future__ import annotations

import pytest

from analyzer.engine import run_rules
from analyzer.engine.trust import grade
from analyzer.facts import Facts
from analyzer.page.job import job_page
from building.builders import TraceBuilder
from jobs.among import among
from rules.communication.exposed import RULE as EXPOSED

ALL_REDUCE = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"


def rank(number: int, *, transfer_us: float, hidden_us: float, waits: bool = True) -> Facts:
    """Eight steps of 10 ms in which ranks take turns: one waits for 4 ms in an all-reduce, the other comes when data is moved."""
    builder = TraceBuilder(top={"distributedInfo": {"rank": number, "world_size": 2, "backend": "nccl"}})
    for index in range(8):
        at = index * 10_000.0
        builder.step(index, at, 10_000)
        inside = transfer_us + 4_000 * (waits and index % 2 == number)
        builder.launch(at, kernel_start=at + 10, kernel_dur=9_990 - inside, name="gemm")
        builder.launch(at + 20, kernel_start=at + 10_000 - inside, kernel_dur=inside, name=ALL_REDUCE, stream=20)
        hides = hidden_us if index % 2 == number else 0
        builder.launch(at + 40, kernel_start=at + 10_000 - inside, kernel_dur=hides + 1, name="gemm")
    return Facts(builder.trace())


@pytest.mark.parametrize(
    ("transfer_us", "hidden_us", "least_ms", "most_ms", "said"),
    [
        # Nothing hides a thing: 2 ms a step of waiting beside 1 ms of moving data.
        (1_000, 0, 2.0, 2.0, "2.0 ms of the 3.0 ms that nothing hides inside them is waiting for other ranks."),
        # Compute hides 3 of 5 ms, in front or behind: of the other two one is waiting in any case.
        (
            1_000,
            3_000,
            0.5,
            1.0,
            "500 us to 1.0 ms of the 1.5 ms that nothing hides inside them is waiting for other ranks.",
        ),
        (3_000, 5_000, 0.0, 1.0, "By the 2 ranks read it is for the most part transferring."),
    ],
    ids=["bare", "either", "transfers"],
)
def test_of_what_compute_hides_in_part_bounds_are_told(
    transfer_us: float, hidden_us: float, least_ms: float, most_ms: float, said: str
) -> None:
    facts = among(*(rank(number, transfer_us=transfer_us, hidden_us=hidden_us) for number in range(2)))
    assert facts.job is not None
    assert facts.job.row is not None
    row = facts.job.row
    assert row.exposed_waiting_least_ns == pytest.approx(least_ms * 1e6, rel=0.02)
    assert row.exposed_waiting_most_ns == pytest.approx(most_ms * 1e6, rel=0.02)
    (result,) = run_rules(facts, (EXPOSED,), grade(facts))
    (found,) = result.findings
    assert found.why.endswith(said)
    # A bar says no more than what is seen: who waits beside its own compute works.
    page = job_page(facts.job.job)
    assert page is not None
    bar = page.bars[0]
    assert bar.wait_ratio == pytest.approx(least_ms / 10, abs=0.01)
    assert bar.work_ratio == pytest.approx(1 - (row.exposed_ns or 0) / 1e7, abs=0.01)
    # More than half is known to be waiting in the first world alone.
    assert found.fix[0].code.startswith("Make the ranks take equally long") == (2 * least_ms > 3.0)


def test_ranks_that_come_together_wait_for_nobody() -> None:
    facts = among(*(rank(number, transfer_us=3_000, hidden_us=0, waits=False) for number in range(2)))
    assert facts.job is not None
    assert facts.job.row is not None
    assert facts.job.row.exposed_ns == pytest.approx(3_000_000, rel=0.02)
    assert facts.job.row.exposed_waiting_most_ns == 0
