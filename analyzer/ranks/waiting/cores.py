"""Ranks without cores: who is late where others took the cores of several ranks is chance, and nobody's to blame."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np

from analyzer.cause_names import CAUSES
from analyzer.ranks.document import LateRank
from analyzer.ranks.summary import RankSummary
from analyzer.ranks.waiting.causes import LACKED_RATIO, cause_words
from analyzer.ranks.waiting.late import LATE_RATIO, Lateness
from analyzer.units import count, duration, share

# Ranks that are named one by one; the others are counted.
_NAMED = 3
_OF_RANKS = ("rank", "ranks", "several ranks")
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


def _interrupted_ratio(one: RankSummary) -> float:
    """What single ops take longer, as a share of the steps."""
    return (one.interrupted_ns or 0) / max(one.window_ns, 1)


class Starved(msgspec.Struct, frozen=True):
    """That ranks lack cores.

    Args:
        told: Which had none for how much of their steps, in words; empty where all had theirs.
        apart: What one of them spends on its host beyond the others all the same, as a sentence; empty where that is little.
    """

    told: str
    apart: str = ""


def starved(summaries: Sequence[RankSummary]) -> Starved:
    """Looks at all ranks."""
    if all(one.core_wait_ratio is None for one in summaries) and any(map(interrupted, summaries)):
        lacks = _Lacks(summaries, asked=False)
        words = lacks.words()
        return Starved(f"{words[:1].upper()}{words[1:]}, as where threads lack cores", lacks.apart().rstrip())
    told = [
        f"rank {one.rank} had no core for {share(one.core_wait_ratio)} of its steps"
        for one in summaries
        if one.core_wait_ratio is not None and one.core_wait_ratio >= LACKED_RATIO
    ]
    more = [f"{count(len(told) - _NAMED, 'more rank')} lacked theirs"] if len(told) > _NAMED else []
    text = ", ".join([*told[:_NAMED], *more])
    return Starved(text[:1].upper() + text[1:])


class Cores(msgspec.Struct, frozen=True):
    """What ranks are late by beyond the lack of cores.

    Args:
        late: Those that are late all the same.
        most_ratio: The share of its steps that one rank had no core for, at most; 0 where nobody is late by no more than that.
        why_unsaid: That as a sentence: why nobody can say who holds the job up; else empty.
    """

    late: Lateness
    most_ratio: float
    why_unsaid: str


def beyond_lacking(summaries: Sequence[RankSummary], late: Lateness, step_ns: float, alike_ns: float) -> Cores:
    """What ranks cost the job beyond what the lack of cores may explain.

    Who has a core is the machine's doing. What others lacked too is chance: whoever had less of what was left was late. Of one rank
    alone that had no core it is what is wrong with it where that is so in each step. What comes and goes is the machine's.

    Args:
        summaries: The ranks.
        late: As played.
        step_ns: The job's step.
        alike_ns: What a step would be shorter by where each waits for another rank; 0 where they do not.
    """
    asked = any(one.core_wait_ratio is not None for one in summaries)
    lacks = _Lacks(summaries, asked=asked)
    most = lacks.most()
    kept = tuple(one for one in late.late if not lacks.explain(one, step_ns))
    dropped = len(kept) < len(late.late)
    together = not kept and (dropped or lacks.many())
    # Of ops alone nobody knows what a rank lost between them.
    what_if = tuple(
        one
        for one in late.what_if
        if not (together and one.scope in _OF_RANKS and (not asked or one.saved_ns_per_step <= most * step_ns))
    )
    seldom_ns = max(late.cost_ns.values(), default=0.0) if late.seldom else 0.0
    seldom = bool(late.seldom) and (seldom_ns <= most * step_ns or (lacks.many() and not asked))
    # Nobody is late where all of them together cost less than a late rank has to.
    turned = max(LATE_RATIO * step_ns, 1) <= alike_ns <= most * step_ns
    dropped = dropped or len(what_if) < len(late.what_if) or seldom or turned
    several = any(one.scope == "several ranks" for one in what_if)
    left = msgspec.structs.replace(
        late,
        late=kept,
        what_if=what_if,
        seldom="" if seldom else late.seldom,
        together=late.together if several else None,
    )
    return Cores(left, most if dropped else 0.0, _why_unsaid(lacks) if dropped else "")


def _why_unsaid(lacks: _Lacks) -> str:
    if lacks.asked:
        return (
            f"Some rank is late, by no more than the {share(lacks.most())} of its steps that one of them had no core: "
            "other programs had it, and who holds the job up cannot be said; record on a quiet machine."
        )
    return (
        f"Some rank is late, and {lacks.words()}: that is how threads without cores look, and who holds the job up cannot be said. "
        f"{lacks.apart()}Give each rank cores of its own, or record on a quiet machine; "
        "`advisor collect` tells how long ranks had no core."
    )


class _Lacks:
    """What ranks lacked cores for: as the system said where somebody asked it, else as single ops show it."""

    def __init__(self, summaries: Sequence[RankSummary], *, asked: bool) -> None:
        self._summaries, self.asked = summaries, asked

    def most(self, but: int | None = None) -> float:
        """The greatest share of the steps that one of the ranks lacked, but for a given one."""
        if self.asked:
            return lacking_ratio(self._summaries, but)
        return max((_interrupted_ratio(one) for one in self._summaries if one.rank != but), default=0.0)

    def many(self, but: int | None = None) -> bool:
        """Whether some rank lacked much, but for a given one."""
        if self.asked:
            return self.most(but) >= LACKED_RATIO
        return any(interrupted(one) for one in self._summaries if one.rank != but)

    def explain(self, late: LateRank, step_ns: float) -> bool:
        """Whether a rank is late by what the machine took from it, and took from others as well or not in each step."""
        lost = late.waited_ns_per_step / step_ns if step_ns else 0.0
        stays = late.steps_late >= _STAYS_RATIO * late.of
        if self.asked:
            others, mine = self.most(late.rank), self._of(late.rank)
            if others >= LACKED_RATIO:
                return lost <= max(mine, others)
            return lost <= mine and (lost <= others or not stays)
        if not self.many(late.rank):
            return self.many() and late.cause in _LIKE_A_LACK and not stays
        # Ops that take longer on all ranks tell no slow one; what a rank does more than the others is more without that as well.
        return late.cause in _LIKE_A_LACK or self._beyond_ns(late.rank, _OWN) < LATE_RATIO * step_ns

    def apart(self) -> str:
        """What a rank spends on its host beyond the others whatever single ops take, as a sentence; empty where that is little."""
        step_ns = float(np.mean([step.dur_ns for one in self._summaries for step in one.steps]))
        found = [
            (self._beyond_ns(one.rank, (cause,)), one.rank, cause)
            for one in self._summaries
            for cause in sorted({cause for step in one.steps for cause in step.causes} - {*_OPS, *_EFFECTS})
        ]
        ns, rank, cause = max(found, default=(0.0, None, ""))
        if ns < LATE_RATIO * step_ns:
            return ""
        return f"Apart from that rank {rank} spends {duration(ns)} a step more than the others: {cause_words(cause)}. "

    def _beyond_ns(self, rank: int | None, causes: Sequence[str]) -> float:
        """What a rank spends in causes beyond the others, a step, each as much shorter as its ops are without interruptions."""
        spent = {
            one.rank: _own_ratio(one) * sum(step.causes.get(cause, 0) for step in one.steps for cause in causes)
            / max(len(one.steps), 1)
            for one in self._summaries
        }  # fmt: skip
        others = [ns for other, ns in spent.items() if other != rank]
        return spent[rank] - float(np.median(others)) if others else 0.0

    def words(self) -> str:
        """Whose ops are interrupted, and how much."""
        hit = [one for one in self._summaries if interrupted(one)]
        who = f"rank {hit[0].rank}" if len(hit) == 1 else count(len(hit), "rank")
        most = max(hit, key=_interrupted_ratio)
        return (
            f"single ops of {who} take milliseconds longer than the same ones in other steps, {share(_interrupted_ratio(most))} of "
            f"the steps of rank {most.rank}"
        )

    def _of(self, rank: int) -> float:
        one = next(one for one in self._summaries if one.rank == rank)
        return one.core_wait_ratio or 0.0
