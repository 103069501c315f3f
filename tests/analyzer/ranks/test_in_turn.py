"""Pipelines of servers, whose messages go one way: stages that work in turn blame nobody, stages that are busy are no news."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from analyzer.job import explain_job
from analyzer.options import Options
from analyzer.ranks.document import Job
from building.builders import TraceBuilder

SEND = "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)"
WORK_US = 1_500
MESSAGE_US = 30


def stages(count: int, *, in_flight: int, steps: int = 8, back: bool = False) -> list[TraceBuilder]:
    """Stages of a pipeline through which so many batches are on their way: each begins when the last stage has finished one.

    With `back` the last stage sends something to the first, as gradients go.
    """
    info = {"backend": "nccl", "world_size": count}
    builders = [TraceBuilder(top={"distributedInfo": {**info, "rank": rank}}) for rank in range(count)]
    free = [0.0] * count
    done = [0.0] * in_flight
    starts: list[list[float]] = [[] for _ in range(count)]

    def message(rank: int, kind: str, peer: int, start: float, end: float, number: int) -> None:
        facts: dict[str, Any] = {
            "Collective name": kind, "Group size": count, "Process Group Name": "3", "Process Group Description": "pp",
            "Seq": number,
            "Process Group Ranks": str(list(range(count))), "In msg nelems": 1024, "Out msg nelems": 1024, "dtype": "Half",
            "Dst Rank" if kind == "send" else "Src Rank": peer,
        }  # fmt: skip
        builders[rank].op("record_param_comms", start - 9, 6, **facts)
        builders[rank].annotation(f"nccl:{kind}", start - 8, 4)
        builders[rank].launch(
            start - 6, kernel_start=start, kernel_dur=end - start, name=SEND, stream=24, op=None, call_dur=2, **facts
        )

    for number in range(steps * in_flight):
        at = done[number % in_flight]
        for rank in range(count):
            begin = max(at, free[rank]) + 20
            starts[rank].append(begin - 12)
            if rank:
                message(rank, "recv", rank - 1, free[rank] + 15, begin + MESSAGE_US, number)
                begin += MESSAGE_US
            if back and rank == 0 and number:
                message(0, "recv", count - 1, begin, begin + MESSAGE_US, number - 1)
            builders[rank].launch(begin + 2, kernel_start=begin + 10, kernel_dur=WORK_US, name="gemm", op="aten::mm")
            at = free[rank] = begin + 10 + WORK_US
            if rank + 1 < count:
                message(rank, "send", rank + 1, at + 5, at + 5 + MESSAGE_US, number)
                free[rank] += 10 + MESSAGE_US
            elif back:
                message(rank, "send", 0, at + 5, at + 5 + MESSAGE_US, number)
                free[rank] += 10 + MESSAGE_US
        done[number % in_flight] = at + 60
    for rank, builder in enumerate(builders):
        for number in range(steps):
            first = starts[rank][number * in_flight]
            last = starts[rank][(number + 1) * in_flight] if number + 1 < steps else free[rank] + 20
            builder.step(number, first, last - first)
    return builders


def told(folder: Path, count: int, *, in_flight: int) -> Job:
    paths = [one.write(folder / f"rank_{rank}.json") for rank, one in enumerate(stages(count, in_flight=in_flight))]
    job = explain_job(paths, Options(select=("CO",)), only_first=True).first.analysis.job
    assert job is not None
    return job


@pytest.mark.parametrize("count", [2, 4])
def test_stages_with_one_batch_work_in_turn_and_none_is_late(tmp_path: Path, count: int) -> None:
    job = told(tmp_path, count, in_flight=1)
    assert (job.late, job.verdict.held_up_by) == ((), "nobody")
    assert "work in turn" in job.verdict.text


def test_stages_with_a_batch_each_work_at_once(tmp_path: Path) -> None:
    job = told(tmp_path, 4, in_flight=4)
    assert job.late == ()
    assert "work in turn" not in job.verdict.text
