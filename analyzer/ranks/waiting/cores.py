"""Ranks without cores: who is late where others took the cores of several ranks is chance, and nobody's to blame."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from analyzer.ranks.document import LateRank
from analyzer.ranks.summary import RankSummary
from analyzer.ranks.waiting.causes import LACKED_RATIO
from analyzer.ranks.waiting.late import Lateness
from analyzer.units import count, share

# Ranks that are named one by one; the others are counted.
_NAMED = 3
_OF_RANKS = ("rank", "ranks", "several ranks")
# A program that stays on a rank's core makes it late in each step; what comes and goes leaves some alone. Of ten steps one may be
# late for others as well.
_STAYS_RATIO = 0.9


def lacking_ratio(summaries: Sequence[RankSummary], rank: int | None = None) -> float:
    """The most that one of the ranks, but for a given one, had no core of its steps, 0..1; 0 where that was not recorded."""
    return max((one.core_wait_ratio or 0.0 for one in summaries if one.rank != rank), default=0.0)


def starved(summaries: Sequence[RankSummary]) -> str:
    """Which ranks had no core for how much of their steps, in words; empty where all had theirs."""
    told = [
        f"rank {one.rank} had no core for {share(one.core_wait_ratio)} of its steps"
        for one in summaries
        if one.core_wait_ratio is not None and one.core_wait_ratio >= LACKED_RATIO
    ]
    more = [f"{count(len(told) - _NAMED, 'more rank')} lacked theirs"] if len(told) > _NAMED else []
    text = ", ".join([*told[:_NAMED], *more])
    return text[:1].upper() + text[1:]


def beyond_lacking(
    summaries: Sequence[RankSummary], late: Lateness, step_ns: float, alike_ns: float
) -> tuple[Lateness, float]:
    """What ranks cost the job beyond what the lack of cores may explain, and the share of steps that this was, 0 where none.

    Who has a core is the machine's doing. What others lacked too is chance: whoever had less of what was left was late. Of one rank
    alone that had no core it is what is wrong with it where that is so in each step. What comes and goes is the machine's.

    Args:
        summaries: The ranks.
        late: As played.
        step_ns: The job's step.
        alike_ns: What a step would be shorter by where each waits for another rank; 0 where they do not.
    """
    most = lacking_ratio(summaries)
    mine = {one.rank: one.core_wait_ratio or 0.0 for one in summaries}
    kept = tuple(
        one for one in late.late if not _by_chance(one, mine[one.rank], lacking_ratio(summaries, one.rank), step_ns)
    )
    dropped = len(kept) < len(late.late)
    together = not kept and (dropped or most >= LACKED_RATIO)
    what_if = tuple(
        one
        for one in late.what_if
        if not (together and one.scope in _OF_RANKS and one.saved_ns_per_step <= most * step_ns)
    )
    seldom_ns = max(late.cost_ns.values(), default=0.0) if late.seldom else 0.0
    seldom = bool(late.seldom) and seldom_ns <= most * step_ns
    dropped = dropped or len(what_if) < len(late.what_if) or seldom or 0 < alike_ns <= most * step_ns
    left = msgspec.structs.replace(late, late=kept, what_if=what_if, seldom="" if seldom else late.seldom)
    return left, most if dropped else 0.0


def _by_chance(late: LateRank, mine: float, others: float, step_ns: float) -> bool:
    """Whether a rank is late by what the machine took from it, and took from others as well or not in each step.

    Args:
        late: The rank.
        mine: Share of its steps in which it had no core.
        others: The most that another rank had none.
        step_ns: The job's step.
    """
    lost = late.waited_ns_per_step / step_ns if step_ns else 0.0
    if others >= LACKED_RATIO:
        return lost <= max(mine, others)
    return lost <= mine and (lost <= others or late.steps_late < _STAYS_RATIO * late.of)
