"""SY003: waits inside a collective's call, or next behind a barrier's, are told by its name; others are the program's."""

from __future__ import annotations

from typing import Literal

import pytest

from building.builders import TraceBuilder
from rules.sync.explicit_synchronize import RULE
from running.one_rule import judged

Place = Literal["inside", "behind", "later", "elsewhere"]


def world(name: str, place: Place) -> TraceBuilder:
    """Three steps of 10 ms: a kernel of 6 ms, a wait for it, and 3 ms of the host's until the next launch."""
    builder = TraceBuilder()
    for number in range(3):
        at = number * 10_000.0
        builder.step(number, at, 10_000)
        builder.launch(at + 10, kernel_start=at + 30, kernel_dur=6_000)
        builder.op(name, at + 100, 5_990 if place == "inside" else 20)
        if place == "later":
            builder.op("aten::add", at + 130, 10)
        thread = 77 if place == "elsewhere" else 1
        builder.runtime("cudaStreamSynchronize", at + 150, 5_900, **({"thread": thread} if thread == 77 else {}))
        builder.launch(at + 9_000, kernel_start=at + 9_020, kernel_dur=900)
    return builder


@pytest.mark.parametrize(
    ("name", "place", "words", "fix"),
    [
        ("c10d::barrier", "inside", "by which the host waits for `c10d::barrier`", "torch.distributed.barrier()"),
        ("c10d::barrier", "behind", "by which the host waits for `c10d::barrier`", "torch.distributed.barrier()"),
        ("c10d::barrier", "later", "outside any op", "torch.cuda.synchronize()"),
        ("c10d::barrier", "elsewhere", "outside any op", "torch.cuda.synchronize()"),
        (
            "c10d::alltoall_base_",
            "inside",
            "by which the host waits for `c10d::alltoall_base_`",
            "TORCH_NCCL_BLOCKING_WAIT",
        ),
        # What follows another collective is not its own: it returns at once.
        ("c10d::alltoall_base_", "behind", "outside any op", "torch.cuda.synchronize()"),
    ],
)
def test_a_wait_for_a_collective_is_told_by_its_name(name: str, place: Place, words: str, fix: str) -> None:
    found = judged(RULE, world(name, place)).finding
    assert words in found.why
    assert fix in found.fix[0].code
