"""What ranks differ most in, and what takes longer beside something else, as parts of the document."""

from __future__ import annotations

from typing import Literal

from analyzer.ranks.job_part import JobPart


class Contrast(JobPart, frozen=True, kw_only=True):
    """The rank that works longest beside the one that works least: what differs most, nanoseconds a step."""

    slowest: int
    fastest: int
    causes: dict[str, int]
    kernels: dict[str, int]


class Contention(JobPart, frozen=True, kw_only=True):
    """Kernels of one name and shape that take longer beside a collective than alone: the rank with the most, and how much."""

    rank: int
    ns_per_step: int
    slower_ratio: float


class Contended(JobPart, frozen=True, kw_only=True):
    """Transfers of one group, kind and size that take longer while something else goes on than the same ones without it.

    `beside` is what: another `collective` that moves data (`other` is its group), or `compute` of the members. `slower` is how many
    times as long they take, in the medians over `count` of them and `alone` others. `exposed_ns_per_step` is what the rank with the
    most loses in exposed time: a fix gives back that at most, since what shares a link has to be moved all the same.
    """

    group: str | None
    ranks: tuple[int, ...]
    kind: str
    size_bytes: int
    beside: Literal["collective", "compute"]
    other: str | None
    slower: float
    count: int
    alone: int
    exposed_ns_per_step: int
