"""What ranks lacked cores for, and whether that explains that one is late: as the system said, or as single ops show it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence

import numpy as np

from analyzer.cause_names import CAUSES
from analyzer.ranks.document import LateRank
from analyzer.ranks.summary import RankSummary
from analyzer.ranks.waiting.amounts import times_as_much
from analyzer.ranks.waiting.causes import LACKED_RATIO, cause_words
from analyzer.ranks.waiting.late import LATE_RATIO
from analyzer.units import count, duration, share

# Causes of a host's time in ops, what others bring about, and all that is a rank's own.
_OPS = ("compute", "optimizer")
_EFFECTS = ("communication", "device_wait")
_OWN = tuple(cause for cause in CAUSES if cause not in _EFFECTS)
# Cores that are taken for longer leave nothing to be told.
_MOST_TAKEN = 0.9
# What a rank that lacks cores is told of as long as nobody knows that: its ops take longer, and what lies between them.
_LIKE_A_LACK = ("device", "not clear")
# A program that stays on a rank's core makes it late in each step; what comes and goes leaves some alone. Of ten steps one may be
# late for others as well.
_STAYS_RATIO = 0.9


def lacking_ratio(summaries: Sequence[RankSummary], rank: int | None = None) -> float:
    """The most that one of the ranks, but for a given one, had no core of its steps, 0..1; 0 where that was not recorded."""
    return max((one.core_wait_ratio or 0.0 for one in summaries if one.rank != rank), default=0.0)


def interrupted(one: RankSummary) -> bool:
    """Whether much of what a rank's ops take is what single ones take longer than the same ones in other steps."""
    return one.interrupted_ns is not None and one.interrupted_ns >= LACKED_RATIO * max(_in_ops_ns(one), 1)


def _in_ops_ns(one: RankSummary) -> int:
    return sum(step.causes.get(cause, 0) for step in one.steps for cause in _OPS)


def _own_ratio(one: RankSummary) -> float:
    """How long a rank's work takes without what single ops take longer, as a share; what lies between ops is hit alike."""
    return 1 - min((one.interrupted_ns or 0) / max(_in_ops_ns(one), 1), _MOST_TAKEN)


def _lost_ratio(one: RankSummary) -> float:
    """What a rank loses in its ops and between them, as single ops show it, as a share of the steps."""
    own_ns = sum(step.causes.get(cause, 0) for step in one.steps for cause in _OWN)
    return (1 - _own_ratio(one)) * own_ns / max(one.window_ns, 1)


def _interrupted_ratio(one: RankSummary) -> float:
    """What single ops take longer, as a share of the steps."""
    return (one.interrupted_ns or 0) / max(one.window_ns, 1)


class Lacks(ABC):
    """What ranks lacked cores for.

    Args:
        summaries: The ranks.
    """

    def __init__(self, summaries: Sequence[RankSummary]) -> None:
        self._summaries = summaries

    @abstractmethod
    def most(self, but: int | None = None) -> float:
        """The greatest share of the steps that one of the ranks lacked, but for a given one."""

    @abstractmethod
    def many(self, but: int | None = None) -> bool:
        """Whether some rank lacked much, but for a given one."""

    @abstractmethod
    def explain(self, late: LateRank, step_ns: float) -> bool:
        """Whether a rank is late by what the machine took from it, and took from others as well or not in each step.

        Args:
            late: The rank.
            step_ns: The job's step.
        """

    @abstractmethod
    def why_unsaid(self) -> str:
        """Why nobody can say who holds the job up, as a sentence."""


class Asked(Lacks):
    """As the system said, where somebody asked it."""

    def most(self, but: int | None = None) -> float:
        """The greatest share that was ready to run and had no core."""
        return lacking_ratio(self._summaries, but)

    def many(self, but: int | None = None) -> bool:
        """Whether a rank had none for a share worth telling."""
        return self.most(but) >= LACKED_RATIO

    def explain(self, late: LateRank, step_ns: float) -> bool:
        """Whether it lost no more than it, or another, had no core for."""
        lost = _lost(late, step_ns)
        others, mine = self.most(late.rank), self._of(late.rank)
        if others >= LACKED_RATIO:
            return lost <= max(mine, others)
        return lost <= mine and (lost <= others or not _stays(late))

    def why_unsaid(self) -> str:
        """With the share that one of them had no core."""
        # Whose cores are bound to each rank may use few as well: others had them all the same, of the job or not.
        few = any(one.few_cores for one in self._summaries)
        others = (
            "the other ranks, which are more than the cores they may use, or other programs"
            if few
            else "other programs"
        )
        how = "with a core for each rank" if few else "on a quiet machine"
        return (
            f"Some rank is late, by no more than the {share(self.most())} of its steps that one of them had no core: {others} "
            f"had it, and who holds the job up cannot be said; record {how}."
        )

    def _of(self, rank: int) -> float:
        one = next(one for one in self._summaries if one.rank == rank)
        return one.core_wait_ratio or 0.0


class Shown(Lacks):
    """As single ops show it, where nobody asked the system."""

    def most(self, but: int | None = None) -> float:
        """The greatest share that is lost, as single ops show it that take longer than their like."""
        return max((_lost_ratio(one) for one in self._summaries if one.rank != but), default=0.0)

    def many(self, but: int | None = None) -> bool:
        """Whether single ops of a rank take much longer."""
        return any(interrupted(one) for one in self._summaries if one.rank != but)

    def explain(self, late: LateRank, step_ns: float) -> bool:
        """Whether it is late as a lack of cores looks, and by nothing that it does beyond the others."""
        # Ops that take longer on all ranks tell no slow one; what a rank does more than the others is more without that as well.
        alike = late.cause in _LIKE_A_LACK or self._beyond_ns(late.rank, _OWN) < LATE_RATIO * step_ns
        if not self.many(late.rank):
            # What lies between the ops of the one rank that lacks cores takes longer as well, but in no such order.
            return self.many() and not _stays(late) and alike and (late.cause in _LIKE_A_LACK or late.every is None)
        return alike

    def why_unsaid(self) -> str:
        """With whose ops are interrupted, and what would tell."""
        return (
            f"Some rank is late, and {self.words()}: that is how threads without cores look, and who holds the job up cannot be "
            f"said. {self.apart()}Give each rank cores of its own, or record on a quiet machine; "
            "`advisor collect` tells how long ranks had no core."
        )

    def words(self) -> str:
        """Whose ops are interrupted, and how much."""
        most = max(self._summaries, key=_interrupted_ratio)
        hit = [one for one in self._summaries if interrupted(one)] or [most]
        who = f"rank {hit[0].rank}" if len(hit) == 1 else count(len(hit), "rank")
        return (
            f"single ops of {who} take milliseconds longer than the same ones in other steps, {share(_interrupted_ratio(most))} of "
            f"the steps of rank {most.rank}"
        )

    def apart(self) -> str:
        """What a rank does beyond the others whatever single ops take, as a sentence; empty where that is little.

        How much its products have to compute, no lack of cores changes: that is told first.
        """
        step_ns = float(np.mean([step.dur_ns for one in self._summaries for step in one.steps]))
        ns, rank, times = max(self._amounts(), default=(0.0, None, 1.0))
        if ns >= LATE_RATIO * step_ns:
            return f"Apart from that rank {rank} has {times:.2g} times as much to compute as the others. "
        found = [
            (self._beyond_ns(one.rank, (cause,)), one.rank, cause)
            for one in self._summaries
            for cause in sorted({cause for step in one.steps for cause in step.causes} - {*_OPS, *_EFFECTS})
        ]
        ns, rank, cause = max(found, default=(0.0, None, ""))
        if ns < LATE_RATIO * step_ns:
            return ""
        return f"Apart from that rank {rank} spends {duration(ns)} a step more than the others: {cause_words(cause)}. "

    def _amounts(self) -> Iterator[tuple[float, int | None, float]]:
        """By rank, what it computes for having more to compute than the others, a step; and how many times as much it has."""
        for one in self._summaries:
            times = times_as_much(one.steps, [other.steps for other in self._summaries if other.rank != one.rank])
            if times is not None and times > 1:
                computes = sum(step.causes.get("compute", 0) for step in one.steps) / max(len(one.steps), 1)
                yield _own_ratio(one) * computes * (1 - 1 / times), one.rank, times

    def _beyond_ns(self, rank: int | None, causes: Sequence[str]) -> float:
        """What a rank spends in causes beyond the others, a step, each as much shorter as its ops are without interruptions."""
        spent = {
            one.rank: _own_ratio(one) * sum(step.causes.get(cause, 0) for step in one.steps for cause in causes)
            / max(len(one.steps), 1)
            for one in self._summaries
        }  # fmt: skip
        others = [ns for other, ns in spent.items() if other != rank]
        return spent[rank] - float(np.median(others)) if others else 0.0


def _lost(late: LateRank, step_ns: float) -> float:
    """What the others wait for a rank, as a share of the step."""
    return late.waited_ns_per_step / step_ns if step_ns else 0.0


def _stays(late: LateRank) -> bool:
    """Whether a rank is late in nearly each of the steps."""
    return late.steps_late >= _STAYS_RATIO * late.of
