"""Who is late: the ranks of one job held against each other by their collectives.

Clocks of different machines do not agree, so no start is compared across ranks. A collective ends for all ranks together; the rank
for which it was shortest arrived last, and the others spent the difference waiting for it (rules.md CO003, after HTA and TraceML).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Protocol

import msgspec
import numpy as np
import pandas as pd

from analyzer.cause_names import CAUSES
from analyzer.facts.device.section import DeviceFacts
from analyzer.facts.steps.find import Steps
from analyzer.facts.time.section import TimeFacts
from analyzer.spans.arrays import Int64Array
from analyzer.spans.intervals import EMPTY, IntervalSet
from analyzer.spans.labels import matching, texts
from traces.trace import Trace


class Rank(Protocol):
    """One rank of a job, as far as ranks are held against each other."""

    @property
    def trace(self) -> Trace:
        """Its trace."""

    @property
    def steps(self) -> Steps:
        """Its steps."""

    @property
    def time(self) -> TimeFacts:
        """Whose each nanosecond of them is."""


class RankSkew(msgspec.Struct, frozen=True):
    """Waiting inside collectives that ranks do not share evenly.

    Args:
        ranks: Rank numbers, this rank's first.
        steps: Step numbers that could be matched: every rank has the same sequence of collectives in them.
        in_collectives_ns: Time inside collectives, one row per rank and one column per matched step.
        step_ns: Mean step time of the matched steps, over all ranks.
        late: Position in `ranks` of the rank that waits least in most steps.
        consistency_ratio: Share of the matched steps in which that rank waits least.
        skew_ns: Mean per step of (longest - shortest) time inside collectives.
        wait_ns: Mean per step of what the other ranks wait for the late one.
        job_ns: The same without what compute hides of it on the waiting ranks: what the job loses.
        more_in: Causes in which the late rank spends more than the median of the others, and how much a step, the most first.
    """

    ranks: tuple[int, ...]
    steps: tuple[int, ...]
    in_collectives_ns: Int64Array
    step_ns: float
    late: int
    consistency_ratio: float
    skew_ns: float
    wait_ns: float
    job_ns: float
    more_in: tuple[tuple[str, float], ...]

    @property
    def lost_in(self) -> tuple[str, float] | None:
        """What makes the late rank late: where it spends most more, waiting on its device left out, which is an effect."""
        return next((part for part in self.more_in if part[0] != "device_wait"), None)


def rank_of(trace: Trace, default: int) -> int:
    """The rank the trace states, else `default`."""
    rank = trace.meta.distributed.get("rank")
    return rank if isinstance(rank, int) and not isinstance(rank, bool) else default


def rank_skew(every: Sequence[Rank]) -> RankSkew | None:
    """Holds the ranks of one job against each other.

    Args:
        every: All ranks, the one that asks first.

    Returns:
        None where fewer than two ranks are given or no step has the same collectives on all of them.
    """
    if len(every) < 2:
        return None
    per_rank = [_collectives_per_step(facts.trace, facts.steps) for facts in every]
    common = [step for step in per_rank[0] if all(step in other for other in per_rank[1:])]
    matched = [
        step
        for step in common
        if len({tuple(other[step].names) for other in per_rank}) == 1 and per_rank[0][step].names
    ]
    if not matched:
        return None
    inside = np.array([[int(rank[step].dur_ns.sum()) for step in matched] for rank in per_rank], dtype=np.int64)
    shortest = np.argmin(inside, axis=0)
    late = int(np.bincount(shortest, minlength=len(every)).argmax())
    others = np.delete(inside, late, axis=0)
    waits = np.maximum(others - inside[late], 0).mean(axis=1)
    alone = [facts.steps.per_step(facts.time.waterfall.owned("communication").total_ns) for facts in every]
    return RankSkew(
        ranks=tuple(rank_of(facts.trace, index) for index, facts in enumerate(every)),
        steps=tuple(matched),
        in_collectives_ns=inside,
        step_ns=float(np.mean([_step_ns(facts.steps, matched) for facts in every])),
        late=late,
        consistency_ratio=float((shortest == late).mean()),
        skew_ns=float((inside.max(axis=0) - inside.min(axis=0)).mean()),
        wait_ns=float(waits.mean()),
        job_ns=float(np.minimum(waits, np.delete(alone, late)).mean()),
        more_in=_more_in(every, late),
    )


class _StepCollectives(msgspec.Struct, frozen=True):
    names: list[str]
    dur_ns: Int64Array


def _collectives_per_step(trace: Trace, steps: Steps) -> dict[int, _StepCollectives]:
    """The collectives that start in each used step: kernels where there is a device, else ranges on the host."""
    kernels = trace.kernels
    rows = kernels[kernels["collective"].to_numpy(dtype=bool)]
    if not len(rows):
        ranges = trace.collectives
        # record_param_comms and c10d:: wrap the backend's own range, which alone lasts as long as the collective.
        rows = ranges[~matching(ranges["name"], re.compile(r"record_param_comms|c10d::").match)]
    used = steps.used
    start = rows["start_ns"].to_numpy()
    step = np.searchsorted(used["start_ns"].to_numpy(), start, side="right") - 1
    inside = (step >= 0) & (start < used["end_ns"].to_numpy()[np.maximum(step, 0)]) if len(used) else start < 0
    numbers = used["number"].to_numpy()
    found = pd.DataFrame(
        {
            "step": numbers[step[inside]] if len(used) else step[inside],
            "name": texts(rows["name"])[inside],
            "dur_ns": rows["dur_ns"].to_numpy()[inside],
        }
    )
    return {
        int(part["step"].iloc[0]): _StepCollectives(part["name"].tolist(), part["dur_ns"].to_numpy())
        for _, part in found.groupby("step", sort=True)
    }


def _step_ns(steps: Steps, numbers: Sequence[int]) -> float:
    used = steps.used
    return float(used.loc[used["number"].isin(list(numbers)), "dur_ns"].to_numpy().mean())


def _more_in(every: Sequence[Rank], late: int) -> tuple[tuple[str, float], ...]:
    """Where the late rank spends more a step than the median of the others, beside communication: that is the effect."""
    parts = [
        {cause: facts.steps.per_step(facts.time.waterfall.owned(cause).total_ns) for cause in CAUSES} for facts in every
    ]
    more = {
        cause: parts[late][cause] - float(np.median([part[cause] for index, part in enumerate(parts) if index != late]))
        for cause in CAUSES
        if cause != "communication"
    }
    return tuple((cause, ns) for cause, ns in sorted(more.items(), key=lambda item: -item[1]) if ns > 0)


def lateness(device: DeviceFacts, steps: Steps, time: TimeFacts, skew: RankSkew) -> tuple[IntervalSet, int]:
    """What this rank, the late one, spends beyond the others, up to what the job loses by it.

    Returns:
        Time of its causes, and nanoseconds of device-busy time, both over all used steps.
    """
    claims, kernel_ns, left = EMPTY, 0.0, skew.job_ns * steps.count
    for cause, more in skew.more_in:
        part = min(more * steps.count, left)
        left -= part
        if cause == "compute" and device.main is not None:
            kernel_ns += part
        else:
            owned = time.waterfall.owned(cause)
            claims |= owned.scaled(part / max(owned.total_ns, 1))
    return claims, int(kernel_ns)


def waiting_for_others(steps: Steps, time: TimeFacts, skew: RankSkew) -> IntervalSet:
    """This rank's exposed communication, as far as the skew explains it: the part that waits for the late rank."""
    if skew.late == 0:
        return EMPTY
    exposed = time.waterfall.owned("communication")
    waited = float(np.maximum(skew.in_collectives_ns[0] - skew.in_collectives_ns[skew.late], 0).mean()) * steps.count
    return exposed.scaled(min(waited / exposed.total_ns, 1.0)) if exposed else EMPTY
