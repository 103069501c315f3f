"""Two ranks whose gathers take longer beside another collective, or beside compute, or only look so."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from analyzer.facts import Facts
from analyzer.job.one import summarized
from analyzer.options import Options
from analyzer.page.job import job_page
from analyzer.ranks.document import Job
from analyzer.ranks.merge import measure, merge
from analyzer.ranks.summary import RankSummary
from building.builders import TraceBuilder

STEP, STEPS = 30_000, 3
KERNELS = {
    "_allgather_base": "ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
    "_reduce_scatter_base": "ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
}


class World:
    """Steps of six gathers of group 1, each 1 ms alone; something runs beside the last three.

    Args:
        rank: Which of two ranks.
        dur: What those three take, us.
        scatter: Whether a reduce-scatter of group 2 runs beside them, as long as they do.
        gemm: Whether the device computes beside them.
        late: How much later this rank comes to the last three, us: then the other one waits for it there.
        larger: Whether those three are twice the size.
    """

    def __init__(
        self, rank: int, *, dur: int = 1_000, scatter: bool = False, gemm: bool = False, late: int = 0, larger: bool = False
    ) -> None:  # fmt: skip
        self.rank, self.sequence = rank, {"1": 0, "2": 0}
        info = {"rank": rank, "world_size": 2, "backend": "nccl"}
        self.builder = TraceBuilder("cuda", top={"host_name": "a", "distributedInfo": info})
        for number in range(STEPS):
            begin = number * STEP
            self.builder.step(number, begin, STEP)
            for place in range(6):
                start, launch, second = begin + 500 + place * 4_500, begin + 10 + place * 30, place >= 3
                came = start + (late * rank if second else 0)
                end = start + late + (dur if second else 1_000) if second else start + 1_000
                self.kernel("sm90_gemm", launch, start - 400, 400, 7)
                self.collective("_allgather_base", "1", launch + 5, came, end - came, 20, 2 if second and larger else 1)
                if second and scatter:
                    self.collective("_reduce_scatter_base", "2", launch + 10, came + 5, end - came, 24)
                if second and gemm:
                    self.kernel("sm90_gemm_wide", launch + 15, came, end - came, 7)

    def kernel(self, name: str, at: int, start: int, dur: int, stream: int, **args: Any) -> None:
        self.builder.launch(
            at, kernel_start=start, kernel_dur=dur, name=name, stream=stream, op=None, call_dur=2, **args
        )

    def collective(self, name: str, group: str, at: int, start: int, dur: int, stream: int, times: int = 1) -> None:
        self.sequence[group] += 1
        args = {
            "Collective name": name, "In msg nelems": times << 22, "Out msg nelems": times << 23, "dtype": "BFloat16",
            "Group size": 2, "Process Group Name": group, "Process Group Ranks": json.dumps([0, 1]),
            "Process Group Description": "undefined", "Seq": self.sequence[group],
        }  # fmt: skip
        self.kernel(KERNELS[name], at, start, dur, stream, **args)

    def summary(self) -> RankSummary:
        return summarized(Facts(self.builder.trace()), Options(), None)[1]


def summaries(**what: Any) -> list[RankSummary]:
    return [World(rank, **what).summary() for rank in range(2)]


def told(**what: Any) -> Job:
    return merge(summaries(**what), name="job")


def notes(job: Job) -> list[str]:
    page = job_page(job)
    assert page is not None
    return [line for line in page.notes if line.startswith("contention")]


def test_a_collective_slows_another_one() -> None:
    job = told(dur=2_000, scatter=True)
    (found,) = job.contended
    assert (found.group, found.kind, found.beside, found.other) == ("1", "all_gather", "collective", "2")
    assert (found.count, found.alone) == (3 * STEPS, 3 * STEPS)
    assert found.slower == pytest.approx(2.0)
    # Three gathers a step take a millisecond longer each.
    assert found.exposed_ns_per_step == 3_000_000
    assert notes(job) == [
        "contention: all_gather of 17 MB in group 1 takes 2.0 times as long while another one of group 2 moves data as without: "
        "at most 3.0 ms a step"
    ]


def test_compute_slows_a_collective_whose_time_is_then_hidden() -> None:
    job = told(dur=2_000, gemm=True)
    (found,) = job.contended
    assert (found.beside, found.other) == ("compute", None)
    assert found.slower == pytest.approx(2.0)
    assert found.exposed_ns_per_step == 0
    assert notes(job) == []


@pytest.mark.parametrize(
    "what",
    [
        {},
        {"scatter": True},  # beside one another, and as fast
        {"gemm": True},
        {"dur": 1_250, "scatter": True},  # less than protocols make up
        {"dur": 2_000},  # longer with nothing beside
        {"dur": 2_000, "scatter": True, "larger": True},  # other sizes
        {"late": 3_000},  # longer for who waits
        {"late": 3_000, "scatter": True},
        {"dur": 2_000, "scatter": True, "gemm": True},  # either may be what slows it
    ],
    ids=str,
)
def test_nothing_is_said_without_contention(what: dict[str, Any]) -> None:
    assert told(**what).contended == ()


def test_collectives_that_run_at_once_are_played_once() -> None:
    found = measure(summaries(dur=2_000, scatter=True))
    assert found.faithful
    assert found.judged.exposed_ns == pytest.approx(3 * 1e6 + 3 * 2.005e6, rel=1e-3)


def test_a_summary_of_before_does_not_say_what_computes_beside() -> None:
    old = [
        msgspec.structs.replace(one, collectives=msgspec.structs.replace(one.collectives, computing_ns=None))
        for one in summaries(dur=2_000, scatter=True)
    ]
    assert merge(old).contended == ()
