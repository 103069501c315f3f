"""Collectives of one root: of two ranks on hosts each waits for the other; of more, or on devices, members come and go."""

from __future__ import annotations

import msgspec
import pytest

from analyzer.ranks.document import Job as MergedJob
from analyzer.ranks.merge import merge
from jobs.simulated import MS, Job


def sending(kind: str, *, ranks: int = 2, device: str = "cpu") -> MergedJob:
    """A job whose ranks send nothing but this; the host of rank 1 is late in each step."""
    made = Job(dp=ranks, late_host={1: 8 * MS}).run().summaries()
    return merge([msgspec.structs.replace(one, kinds=(kind,), device_kind=device) for one in made])


@pytest.mark.parametrize("kind", ["broadcast", "reduce", "gather", "scatter", "all_reduce"])
def test_of_two_ranks_on_hosts_each_waits_for_the_other(kind: str) -> None:
    job = sending(kind)
    assert [(one.rank, one.cause) for one in job.late] == [(1, "host")], job.verdict.text


@pytest.mark.parametrize(
    ("ranks", "device"), [(4, "cpu"), (2, "cuda")], ids=["leaves need not wait for one another", "a device"]
)
def test_where_members_come_and_go_nothing_is_said(ranks: int, device: str) -> None:
    job = sending("broadcast", ranks=ranks, device=device)
    assert (job.late, job.verdict.held_up_by) == ((), "not clear")
    assert "could not be held against other ranks'" in job.verdict.text
