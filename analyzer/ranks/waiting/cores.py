"""Ranks without cores: who is late where others took the cores of several ranks is chance, and nobody's to blame."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from analyzer.ranks.summary import RankSummary
from analyzer.ranks.waiting.causes import LACKED_RATIO
from analyzer.ranks.waiting.late import Lateness
from analyzer.units import count, share

# Ranks that are named one by one; the others are counted.
_NAMED = 3
_OF_RANKS = ("rank", "ranks", "several ranks")


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


def beyond_lacking(summaries: Sequence[RankSummary], late: Lateness, step_ns: float) -> tuple[Lateness, float]:
    """Late ranks that cost the job more than the lack of cores may explain, and the share of steps that this was, 0 where none.

    Of one rank alone that had no core that is what is wrong with it. Where others had none either, whoever had less of what was
    left was late.

    Args:
        summaries: The ranks.
        late: As played.
        step_ns: The job's step.
    """
    most = lacking_ratio(summaries)

    def explained(rank: int, ns: float) -> bool:
        return lacking_ratio(summaries, rank) >= LACKED_RATIO and ns <= most * step_ns

    kept = tuple(one for one in late.late if not explained(one.rank, one.waited_ns_per_step))
    together = most >= LACKED_RATIO and not kept
    what_if = tuple(
        one
        for one in late.what_if
        if not (together and one.scope in _OF_RANKS and one.saved_ns_per_step <= most * step_ns)
    )
    dropped = len(kept) < len(late.late) or len(what_if) < len(late.what_if)
    return msgspec.structs.replace(late, late=kept, what_if=what_if), most if dropped else 0.0
