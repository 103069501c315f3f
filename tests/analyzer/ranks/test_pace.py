"""How fast a group moves data that none is equal to: what is measured, and what brings so much."""

from __future__ import annotations

import msgspec
import pytest

from analyzer.ranks.document import Job
from analyzer.ranks.merge import merge
from jobs.merged import ranks

NVLINK = "NVLink"


def job(times: float = 1.0, per_host: int = 4, *, device_kind: str = "cuda", host: bool = True) -> Job:
    """Four ranks that sum buckets of 25 MB, over links that take so many times as long as 75 GB/s."""
    made = ranks("titan", per_host=per_host, program="ddp", dp=4, node=((0, times),), per_node=2)
    return merge(
        [msgspec.structs.replace(one, device_kind=device_kind, host=one.host if host else None) for one in made]
    )


@pytest.mark.parametrize(
    ("times", "per_host", "said"),
    [
        (6.0, 4, "of one machine, moves 12 GB/s over each link: as PCIe does."),
        (40.0, 4, "less than 16 lanes of PCIe bring"),
        (6.0, 2, "on 2 machines, moves 12 GB/s over each link: as one adapter of 25 to 100 Gbit/s does."),
        (80.0, 2, "as a network of 10 Gbit/s does."),
    ],
)
def test_links_that_are_slow_everywhere_are_told_with_what_they_are_like(
    times: float, per_host: int, said: str
) -> None:
    found = job(times, per_host)
    assert said in found.pace
    assert found.verdict.text.endswith(found.pace)
    assert (found.verdict.held_up_by, found.late) == ("nobody", ())


def test_links_as_fast_as_any_are_told_without_a_word_of_others() -> None:
    assert job().pace.endswith("moves 72 GB/s over each link.")


def test_where_nobody_knows_the_machines_nothing_is_said_of_what_links_bring() -> None:
    assert NVLINK not in job(6.0, host=False).pace


def test_what_cores_move_is_no_links_doing() -> None:
    assert job(6.0, device_kind="cpu").pace == ""


def test_between_machines_gloo_goes_over_links_too() -> None:
    slow, fast = (job(times, 2, device_kind="cpu").pace for times in (80.0, 6.0))
    assert "on 2 machines, moves 937 MB/s over each link: no more than a network of 10 Gbit/s brings" in slow
    assert "GLOO_SOCKET_IFNAME" in slow
    assert "NCCL" not in slow
    assert fast.endswith("moves 12 GB/s over each link.")
    assert job(80.0, 2, device_kind="cpu", host=False).pace == ""


def test_small_messages_tell_nothing_of_links() -> None:
    """Sums of 500 kB, as a server's."""
    assert merge(ranks("titan", program="serve", tp=4)).pace == ""


def test_where_equal_groups_tell_what_is_slow_nothing_else_is_said() -> None:
    assert merge(ranks("titan", program="megatron", dp=4, tp=2, link=(((2, 3), 5.0),))).late[0].cause == "link"
