"""Collectives that queue on their stream behind one that waits could begin before they did, and stand in the program's order."""

from __future__ import annotations

from pathlib import Path

from analyzer.job.one import summary_of
from analyzer.ranks.summary import CollectiveColumns
from building.builders import TraceBuilder

KERNELS = {
    "all_reduce": "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
    "all_gather": "ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
}


def columns(folder: Path, *, waits_us: float, pause_us: float = 2) -> tuple[CollectiveColumns, list[str]]:
    """Of a rank that issues two sums on one stream, the first of which takes so long, and a gather on another stream."""
    builder = TraceBuilder(top={"distributedInfo": {"rank": 0, "world_size": 2}}).step(0, 0, 6_000)
    for number, (at, start, dur) in enumerate(((10, 20, 980), (50, 1_000, 1_000), (80, 2_000, 500))):
        builder.launch(at, kernel_start=start, kernel_dur=dur, name=f"gemm{number}", op=None)
    second = max(1_000 + waits_us + pause_us, 2_000)
    for at, kind, start, dur, stream in (
        (30, "all_reduce", 1_000, waits_us, 20), (70, "all_reduce", second, 100, 20), (90, "all_gather", 2_500, 50, 24),
    ):  # fmt: skip
        builder.launch(at, kernel_start=start, kernel_dur=dur, name=KERNELS[kind], stream=stream, op=None)
    found = summary_of(builder.write(folder / "rank_0.json"))
    return found.collectives, [found.kinds[kind] for kind in found.collectives.kind]


def test_what_queues_could_begin_when_what_was_launched_before_it_was_computed(tmp_path: Path) -> None:
    found, kinds = columns(tmp_path, waits_us=3_000)
    assert found.start_ns == [1_000_000, 4_002_000, 2_500_000]
    assert found.ready_ns == [1_000_000, 2_000_000, 2_500_000]
    assert kinds == ["all_reduce", "all_reduce", "all_gather"]
    assert found.own_ns["compute"] == [980_000, 1_000_000, 500_000]
    # Nothing computes from 2.5 ms on: until 4 ms the first one is waited for, then the second one.
    assert found.exposed_ns == [1_500_000, 100_000, 0]


def test_where_nothing_waits_it_begins_when_it_could(tmp_path: Path) -> None:
    found, _ = columns(tmp_path, waits_us=500)
    assert (found.ready_ns, found.start_ns) == (None, [1_000_000, 2_000_000, 2_500_000])


def test_what_begins_long_after_the_one_before_it_did_not_queue(tmp_path: Path) -> None:
    found, kinds = columns(tmp_path, waits_us=3_000, pause_us=300)
    assert (found.ready_ns, found.start_ns) == (None, [1_000_000, 2_500_000, 4_300_000])
    assert kinds == ["all_reduce", "all_gather", "all_reduce"]
