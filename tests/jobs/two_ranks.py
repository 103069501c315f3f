"""Two ranks of a job on disk, one of which may be late."""

from __future__ import annotations

from pathlib import Path

from building.builders import TraceBuilder

ALL_REDUCE = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"


def write_rank(folder: Path, number: int, compute_us: float) -> Path:
    """The trace of a rank that computes so long in each step of 10 ms, and is in a collective for the rest of it."""
    builder = TraceBuilder(top={"distributedInfo": {"rank": number, "world_size": 2}})
    for index in range(4):
        at = index * 10_000
        builder.step(index, at, 10_000)
        builder.launch(at, kernel_start=at + 10, kernel_dur=compute_us - 10, name="gemm")
        builder.launch(
            at + 20, kernel_start=at + compute_us, kernel_dur=10_000 - compute_us, name=ALL_REDUCE, stream=20
        )
    return builder.write(folder / f"rank{number}.json")
