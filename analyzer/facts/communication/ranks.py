"""This rank among the ranks of its job: who is late, what this one waits for it, and what it spends beyond the others."""

from __future__ import annotations

import msgspec
import numpy as np

from analyzer.facts.device.section import DeviceFacts
from analyzer.facts.steps.find import Steps
from analyzer.facts.time.section import TimeFacts
from analyzer.ranks.document import Job, JobRank, LateRank
from analyzer.spans.intervals import EMPTY, IntervalSet

# Waiting on its device and for others is an effect of being late, or of others being it.
_EFFECTS = ("communication", "device_wait")


class JobPlace(msgspec.Struct, frozen=True):
    """A rank in its job.

    Args:
        job: All ranks held against each other.
        rank: This one.
    """

    job: Job
    rank: int

    @property
    def row(self) -> JobRank | None:
        """This rank's row; None where it could not be used."""
        return next((row for row in self.job.ranks if row.rank == self.rank and row.state == "ok"), None)

    @property
    def used(self) -> tuple[JobRank, ...]:
        """The ranks that could be held against each other."""
        return tuple(row for row in self.job.ranks if row.state == "ok")

    @property
    def late(self) -> LateRank | None:
        """The rank that costs the job most; None where none is late. A slow stage or link is no rank that is late."""
        return next((one for one in self.job.late if one.of_rank), None)

    @property
    def slow_link(self) -> LateRank | None:
        """The slow link that costs the job most; None where none is slower than equal ones."""
        return next((one for one in self.job.late if one.cause == "link"), None)

    @property
    def slow_stage(self) -> LateRank | None:
        """The stage of the pipeline that sets the pace, where balancing it is worth it."""
        return next((one for one in self.job.late if one.cause == "stage"), None)

    @property
    def is_late(self) -> bool:
        """Whether that is this one."""
        return self.late is not None and self.late.rank == self.rank

    @property
    def every_rank_is_here(self) -> bool:
        """Whether all ranks of the job were read and hold collectives of one another."""
        job = self.job
        return job.world_size is not None and len(self.used) >= job.world_size and job.matched.matched > 0

    @property
    def most_ratio(self) -> float:
        """What the most costly rank costs of the step, late or not; 0 where none was played."""
        costs = [row.cost_ns for row in self.used if row.cost_ns is not None]
        return max(costs, default=0) / self.job.step_ns if self.job.step_ns else 0.0

    @property
    def more_in(self) -> tuple[tuple[str, int], ...]:
        """Causes in which the late rank spends more a step than the median of the others, the most first."""
        late = self.late
        rows = {row.rank: row.waterfall for row in self.used}
        if late is None or late.rank not in rows or len(rows) < 2:
            return ()
        others = [row for rank, row in rows.items() if rank != late.rank]
        more = {
            cause: ns - int(np.median([other.get(cause, 0) for other in others]))
            for cause, ns in rows[late.rank].items()
            if cause not in _EFFECTS
        }
        return tuple((cause, ns) for cause, ns in sorted(more.items(), key=lambda item: -item[1]) if ns > 0)


def lateness(device: DeviceFacts, steps: Steps, time: TimeFacts, place: JobPlace) -> tuple[IntervalSet, int]:
    """What this rank, the late one, spends beyond the others, up to what the job loses by it.

    Returns:
        Time of its causes, and nanoseconds of device-busy time, both over all used steps.
    """
    claims, kernel_ns, late = EMPTY, 0.0, place.late
    left = float(late.waited_ns_per_step if late else 0) * steps.count
    for cause, more in place.more_in:
        part = min(float(more * steps.count), left)
        left -= part
        if cause == "compute" and device.main is not None:
            kernel_ns += part
        else:
            owned = time.waterfall.owned(cause)
            claims |= owned.scaled(part / max(owned.total_ns, 1))
    return claims, int(kernel_ns)


def in_own_work(device: DeviceFacts, steps: Steps, time: TimeFacts, ns_per_step: float) -> tuple[IntervalSet, int]:
    """So many nanoseconds a step of what this rank computes: of the host's ops, or of a device's kernels, over all used steps."""
    wanted = ns_per_step * steps.count
    if device.main is not None:
        return EMPTY, int(min(wanted, device.main.compute.total_ns))
    owned = time.waterfall.owned("compute")
    return owned.scaled(min(wanted / max(owned.total_ns, 1), 1.0)), 0


def in_collectives(steps: Steps, time: TimeFacts, ns_per_step: float) -> IntervalSet:
    """This rank's exposed communication, no more of it than so many nanoseconds a step."""
    exposed = time.waterfall.owned("communication")
    return exposed.scaled(min(ns_per_step * steps.count / exposed.total_ns, 1.0)) if exposed else EMPTY


def waiting_for_others(steps: Steps, time: TimeFacts, place: JobPlace) -> IntervalSet:
    """This rank's exposed communication, as far as waiting explains it, and no more than the job gains without the late rank."""
    row, late = place.row, place.late
    if row is None or late is None or place.is_late or row.exposed_waiting_most_ns is None:
        return EMPTY
    return in_collectives(steps, time, float(min(row.exposed_waiting_most_ns, late.waited_ns_per_step)))
