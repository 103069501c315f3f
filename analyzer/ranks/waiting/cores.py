"""Ranks without cores: who is late where others took the cores of several ranks is chance, and nobody's to blame."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from analyzer.ranks.summary import RankSummary
from analyzer.ranks.waiting.causes import LACKED_RATIO
from analyzer.ranks.waiting.lacks import Asked, Shown
from analyzer.ranks.waiting.late import LATE_RATIO, Lateness
from analyzer.units import count, share

# Ranks that are named one by one; the others are counted.
_NAMED = 3
_OF_RANKS = ("rank", "ranks", "several ranks")


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
    lacks = Shown(summaries)
    if all(one.core_wait_ratio is None for one in summaries) and lacks.many():
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
        why_unsaid: That as a sentence: why nobody can say who holds the job up; else empty.
        lacked_ratio: The share of its steps that one rank had no core for, at most, whoever is late; 0 where nothing shows it.
    """

    late: Lateness
    why_unsaid: str
    lacked_ratio: float


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
    lacks = Asked(summaries) if asked else Shown(summaries)
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
    lacked = most if dropped or asked or lacks.many() else 0.0
    return Cores(left, lacks.why_unsaid() if dropped else "", lacked)
