"""Two jobs of ranks side by side: their steps, who held each up, and how fast their links were."""

from __future__ import annotations

import msgspec

from analyzer.ranks.document import CauseClass, HeldUpBy, Job, LateRank, Link

# Of links those that differ most are told.
_LISTED = 12


class JobSide(msgspec.Struct, frozen=True, kw_only=True):
    """A job as a whole: `present` of `ranks` are here; `lost_ns` is what a step loses by who or what holds it up."""

    ranks: int | None
    present: int
    step_ns: int
    held_up_by: HeldUpBy
    rank: int | None
    lost_ns: int
    bubble_ratio: float | None
    text: str


class LateChange(msgspec.Struct, frozen=True, kw_only=True):
    """A rank, stage or link that holds one of the jobs up: what a step loses by it on each side, 0 where it is not late."""

    rank: int
    cause: CauseClass
    before_ns: int
    after_ns: int


class LinkChange(msgspec.Struct, frozen=True, kw_only=True):
    """How fast the same ranks moved the same messages on each side."""

    ranks: tuple[int, ...]
    kind: str
    size_bytes: int
    before_bytes_per_s: float
    after_bytes_per_s: float


class JobChange(msgspec.Struct, frozen=True, kw_only=True):
    """Both jobs, what held either up, and the links that are of both, the most changed first."""

    before: JobSide
    after: JobSide
    late: tuple[LateChange, ...]
    links: tuple[LinkChange, ...]


def job_change(before: Job, after: Job) -> JobChange:
    """Holds two jobs against each other."""
    return JobChange(before=_side(before), after=_side(after), late=_late(before, after), links=_links(before, after))


def _side(job: Job) -> JobSide:
    return JobSide(
        ranks=job.world_size,
        present=job.present,
        step_ns=job.step_ns,
        held_up_by=job.verdict.held_up_by,
        rank=job.verdict.rank,
        lost_ns=round(job.verdict.ratio * job.step_ns),
        bubble_ratio=None if job.pipeline is None else job.pipeline.bubble_ratio,
        text=job.verdict.text,
    )


def _late(before: Job, after: Job) -> tuple[LateChange, ...]:
    def key(one: LateRank) -> tuple[int, bool]:
        return one.rank, one.of_rank

    first, second = ({key(one): one for one in job.late} for job in (before, after))
    found = [
        LateChange(
            rank=place[0],
            cause=(first.get(place) or second[place]).cause,
            before_ns=first[place].waited_ns_per_step if place in first else 0,
            after_ns=second[place].waited_ns_per_step if place in second else 0,
        )
        for place in {**first, **second}
    ]
    return tuple(sorted(found, key=lambda one: (-max(one.before_ns, one.after_ns), one.rank)))


def _links(before: Job, after: Job) -> tuple[LinkChange, ...]:
    def key(one: Link) -> tuple[tuple[int, ...], str, int]:
        return one.ranks, one.kind, one.size_bytes

    first, second = ({key(one): one.bytes_per_s for one in job.links if one.ranks} for job in (before, after))
    found = [
        LinkChange(
            ranks=place[0],
            kind=place[1],
            size_bytes=place[2],
            before_bytes_per_s=speed,
            after_bytes_per_s=second[place],
        )
        for place, speed in first.items()
        if place in second
    ]
    found.sort(
        key=lambda one: (
            -max(one.after_bytes_per_s / one.before_bytes_per_s, one.before_bytes_per_s / one.after_bytes_per_s)
        )
    )
    return tuple(found[:_LISTED])
