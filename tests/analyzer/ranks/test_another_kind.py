"""A slow device that is of another kind than its peers', or that other software runs on, is told with what it is."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from analyzer.ranks.merge import merge
from jobs.merged import ranks


def told(**change: Any) -> str:
    """Why rank 1 of four is late, which is slower and differs in something; the others state H100 and CUDA 12.4."""
    made = [
        msgspec.structs.replace(one, device="H100", versions={"CUDA": "12.4", "NCCL": "2.21"})
        for one in ranks("titan", program="ddp", dp=4, device=((1, 1.5),))
    ]
    made[1] = msgspec.structs.replace(made[1], **change)
    return merge(made).late[0].cause_detail


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"device": "A100"}, "; its device is A100, those of its peers H100"),
        ({"versions": {"CUDA": "11.8", "NCCL": "2.21"}}, "; it has CUDA 11.8, its peers 12.4"),
        ({"versions": {}}, ""),
        ({"device": None}, ""),
        ({}, ""),
    ],
)
def test_what_a_slow_rank_has_that_its_peers_have_not(change: dict[str, Any], said: str) -> None:
    assert told(**change) == f"the same kernels on the same shapes take longer on its device{said}"
