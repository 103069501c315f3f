"""What a rank waits in two collectives at once it waits once; in one behind the other each has its own."""

from __future__ import annotations

import pytest

from analyzer.facts import Facts
from building.builders import TraceBuilder
from jobs.among import among

ALL_REDUCE = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"


def rank(work_us: float, *, beside: bool) -> Facts:
    """Eight steps of 10 ms that end with two all-reduces: on two streams beside each other, or the second behind the first.

    Args:
        work_us: What the rank computes in front of them, and between them where they are not beside each other.
        beside: Whether they are.
    """
    late = work_us > 2_000
    builder = TraceBuilder(top={"distributedInfo": {"rank": int(late), "world_size": 2, "backend": "nccl"}})
    for index in range(8):
        at = index * 10_000.0
        builder.step(index, at, 10_000)
        begins, ends = ((work_us, work_us), (9_000, 9_500)) if beside else ((work_us, 5_000 + work_us), (5_000, 9_500))
        builder.launch(at, kernel_start=at + 10, kernel_dur=work_us - 20, name="gemm")
        if not beside:
            builder.launch(at + 5, kernel_start=at + 5_000, kernel_dur=work_us - 20, name="gemm")
        for place in range(2):
            begin, dur = at + begins[place], ends[place] - begins[place]
            builder.launch(
                at + 20 + place, kernel_start=begin, kernel_dur=dur, name=ALL_REDUCE, stream=20 + place * beside
            )
    return Facts(builder.trace())


@pytest.mark.parametrize(("beside", "inside_ms"), [(True, 8.5), (False, 7.5)])
def test_time_in_two_collectives_at_once_counts_once(beside: bool, inside_ms: float) -> None:
    early, late = 1_000.0, 3_000.0
    facts = among(*(rank(work, beside=beside) for work in (early, late)))
    assert facts.job is not None
    rows = {row.rank: row for row in facts.job.used}
    waits_ms = 2.0 if beside else 4.0
    assert rows[0].in_collectives_ns == pytest.approx(inside_ms * 1e6, rel=0.02)
    assert rows[0].waiting_ns == pytest.approx(waits_ms * 1e6, rel=0.02)
    assert rows[1].waiting_ns == 0
