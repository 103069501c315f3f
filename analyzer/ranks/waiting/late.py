"""Late ranks: those without whose extra work the job's step would be shorter, and why they are late."""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec
import numpy as np

from analyzer.ranks.alignment.matching import Matched
from analyzer.ranks.alignment.table import Table
from analyzer.ranks.document import ConfidenceLevel, LateRank, Together, WhatIf
from analyzer.ranks.waiting.amounts import between, more_ns
from analyzer.ranks.waiting.arrivals import Arrivals
from analyzer.ranks.waiting.causes import EXPLAINED_RATIO, Why, why_late
from analyzer.ranks.waiting.peers import Peers
from analyzer.ranks.waiting.regular import chance, late_regularly
from analyzer.ranks.waiting.replay import Replay
from analyzer.ranks.waiting.together import often_late, together
from analyzer.ranks.waiting.turns import by_turns, step_beside_peers
from analyzer.spans.arrays import FloatArray
from analyzer.units import count, duration

# What a late rank has to cost the job, as a share of the step: half of what TraceML warns from, which rule CO003 asks for.
LATE_RATIO = 0.05
# In so many of the steps the rank has to be late, or it is chance (rules.md, CO003).
CONSISTENT_RATIO = 0.6
# Or the rank has so many of all late steps that chance gives them to one so seldom: a stall that comes every few steps.
_CHANCE_RATIO = 0.05
# How many standard errors the mean lateness lies above nothing.
_SURE = 2.0
# In a step the rank is late where it does more than its peers by this share of the step.
STEP_RATIO = 0.02
# Each is one replay of the job: so many ranks can matter.
_PLAYED = 8
# Several ranks are named together where that saves so much more than the latest alone.
_MORE_RATIO = 1.25
_SLOWEST_RATIO = 0.03
ALL_AS_PEERS = "all ranks as their peers"


class Lateness(msgspec.Struct, frozen=True):
    """Late ranks, what the job would take without them, and what each rank that was played costs.

    `together` are several that are late together, where no one is alone. `seldom` says in words that a rank is late in so few steps
    that it may be chance, though that costs enough; else it is empty.
    """

    late: tuple[LateRank, ...]
    what_if: tuple[WhatIf, ...]
    cost_ns: dict[int, float]
    seldom: str = ""
    together: Together | None = None


def lateness(
    table: Table, matched: Matched, found: Arrivals, peers: Peers, replay: Replay, error_ns: int, *, at_most: bool
) -> Lateness:
    """Plays the job again without each rank that does most beyond its peers.

    Args:
        table: The rows.
        matched: Which belong together.
        found: Waiting and transfer of each.
        peers: Each rank beside its peers.
        replay: The job, to be played again.
        error_ns: Below this nobody is late.
        at_most: Whether ranks are missing that may be as late.
    """
    step_ns = replay.as_recorded_ns
    counted = (~np.isnan(peers.excess_ns)).sum(axis=1)
    mean = np.nansum(peers.excess_ns, axis=1) / np.maximum(counted, 1)
    floor = max(STEP_RATIO * step_ns, float(error_ns))
    ranked = np.argsort(-mean, kind="stable")
    worth = [int(place) for place in ranked[:_PLAYED] if mean[place] >= floor]
    costs = {place: step_ns - _without(table, peers, [place], replay) for place in worth}
    late = [_late(table, matched, found, peers, place, cost, floor) for place, cost in costs.items() if cost > 0]
    counted_ones = (one for one in late if one is not None and _counts(one, step_ns))
    kept = tuple(sorted((msgspec.structs.replace(one, at_most=at_most) for one in counted_ones), key=worst_first))
    ranks = table.ranks
    what_if = [what_if_saved(f"rank {one.rank} as its peers", "rank", step_ns, one.waited_ns_per_step) for one in kept]
    several = [] if by_turns(peers) else _together(table, peers, replay, worth, kept)
    what_if += several
    others = len(worth) < len(ranks)
    often = all(often_late(peers, place, floor, CONSISTENT_RATIO) for place in worth)
    equally = (
        together(table, peers, worth, several[0].saved_ns_per_step)
        if several and often and not kept and others
        else None
    )
    slowest = ranked[: max(math.ceil(_SLOWEST_RATIO * len(ranked)), 1)].tolist()
    if kept and len(slowest) > 1:
        saved = step_ns - _without(table, peers, slowest, replay)
        what_if.append(what_if_saved("the slowest 3 % of ranks as their peers", "ranks", step_ns, saved))
    every = {ranks[place]: max(cost, 0.0) for place, cost in costs.items()}
    return Lateness(kept, tuple(what_if), every, "" if kept else _seldom(table, peers, costs, floor, step_ns), equally)


def _seldom(table: Table, peers: Peers, costs: dict[int, float], floor_ns: float, step_ns: float) -> str:
    """That the rank which costs most is late in too few steps, in words; empty where it costs too little."""
    place = max(costs, key=lambda one: costs[one], default=None)
    if place is None or costs[place] < LATE_RATIO * step_ns:
        return ""
    mine = peers.excess_ns[place][~np.isnan(peers.excess_ns[place])]
    times = int((mine >= floor_ns).sum())
    # In most steps, and by times so unlike that their mean is not sure to be above nothing.
    often = times >= CONSISTENT_RATIO * len(mine)
    why = "most of that in few of them, which may be chance" if often else "so few may be chance"
    return (
        f"Rank {table.ranks[place]} is late in {times} of {count(len(mine), 'step')}, which costs {duration(costs[place])} of each "
        f"{duration(step_ns)} step on average: {why}, more recorded steps tell.{_more_in_these(table, peers, place, floor_ns)}"
    )


def _more_in_these(table: Table, peers: Peers, place: int, floor_ns: float) -> str:
    """That the steps in which a rank is late are those in which it has more to compute, as a sentence; else empty."""
    whole = more = 0.0
    amounts = []
    for column in np.flatnonzero(np.nan_to_num(peers.excess_ns[place], nan=0.0) >= floor_ns).tolist():
        mine, others = step_beside_peers(table, peers, place, peers.steps[column])
        if mine is None or not others:
            continue
        ns, times = more_ns(mine, others)
        whole, more = whole + float(peers.excess_ns[place][column]), more + ns
        amounts += [times] if ns else []
    if more < EXPLAINED_RATIO * whole or not amounts:
        return ""
    return f" Its work is uneven: in these it has {between(amounts)} times as much to compute as the others."


def _together(
    table: Table, peers: Peers, replay: Replay, worth: Sequence[int], late: Sequence[LateRank]
) -> list[WhatIf]:
    """Several ranks that do more than their peers, where that is worth more than the latest of them alone.

    Of two that are equally late each alone costs nothing: the others would wait for the other one.
    """
    if len(worth) < 2:
        return []
    step_ns = replay.as_recorded_ns
    saved = step_ns - _without(table, peers, list(worth), replay)
    alone = max((one.waited_ns_per_step for one in late), default=0)
    if saved < max(LATE_RATIO * step_ns, _MORE_RATIO * alone):
        return []
    names = ", ".join(str(table.ranks[place]) for place in sorted(worth))
    ideal = ALL_AS_PEERS if len(worth) == len(table.ranks) else f"ranks {names} as their peers"
    return [what_if_saved(ideal, "several ranks", step_ns, saved)]


def what_if_saved(ideal: str, scope: str, step_ns: float, saved_ns: float) -> WhatIf:
    """What the job's step of `step_ns` would be with so much saved."""
    left = max(step_ns - saved_ns, 1.0)
    return WhatIf(
        ideal=ideal, scope=scope, step_ns=int(left), saved_ns_per_step=int(saved_ns), slowdown=float(step_ns / left)
    )


def _without(table: Table, peers: Peers, places: list[int], replay: Replay) -> float:
    """The job's step where some ranks do what their peers do, behind the last collective as well."""
    own_ns = np.where(np.isin(table.rows.member, places), peers.ideal_ns, replay.own_ns)
    tail_ns = table.tail_ns.astype(np.float64)
    tail_ns[places] = peers.ideal_tail_ns[places]
    return replay.step_ns(own_ns, replay.transfer_ns, tail_ns)


def _counts(late: LateRank, step_ns: float) -> bool:
    often = late.steps_late >= CONSISTENT_RATIO * late.of or late.chance_ratio < _CHANCE_RATIO
    return late.waited_ns_per_step >= LATE_RATIO * step_ns and often


def worst_first(late: LateRank) -> tuple[int, int]:
    """Sorts late ranks by what they cost, the most first."""
    return -late.waited_ns_per_step, late.rank


def _late(
    table: Table, matched: Matched, found: Arrivals, peers: Peers, place: int, cost_ns: float, floor_ns: float
) -> LateRank | None:
    mine = peers.excess_ns[place]
    seen = ~np.isnan(mine)
    values = mine[seen]
    spread = float(values.std(ddof=1)) / math.sqrt(len(values)) if len(values) > 1 else 0.0
    late = values >= floor_ns
    since, chosen = since_when(values, late)
    members = np.flatnonzero(peers.label == peers.label[place])
    regular = late_regularly(peers.excess_ns[members], int(np.searchsorted(members, place)))
    if regular is not None:
        since, chosen = None, 0
    # What came on in the middle is late from there on; before it the rank is not what it is now.
    elif float(values.mean()) < _SURE * spread and since is None:
        return None
    others = [table.summaries[one] for one in members.tolist() if one != place]
    why: Why = why_late(table.summaries[place], others, float(values.sum()) / _steps_of(table, peers, place))
    of = int(len(values) if since is None else len(values) - chosen)
    return LateRank(
        rank=table.ranks[place],
        group=_group_of(table, matched, found, place),
        steps_late=int(late[chosen:].sum()) if regular is None else regular.times,
        of=of,
        since_step=None if since is None else int(np.array(peers.steps)[seen][since]),
        waited_ns_per_step=int(cost_ns),
        cause=why.cause,
        cause_detail=why.detail,
        explained_ratio=why.explained_ratio,
        runs_more=why.runs_more,
        confidence=_confidence(why, of),
        chance_ratio=chance(peers.excess_ns[members] >= floor_ns, int(late.sum()))
        if regular is None
        else regular.chance_ratio,
        every=None if regular is None else regular.every,
    )


def _steps_of(table: Table, peers: Peers, place: int) -> int:
    """How many steps what a rank does beyond its peers is of: of those without collectives it lies in front of the next one."""
    behind = peers.steps[-1]
    whole = sum(step.number <= behind for step in table.summaries[place].steps)
    return max(whole - int(np.isnan(peers.excess_ns[place]).sum()), 1)


def since_when(values: FloatArray, late: np.ndarray) -> tuple[int | None, int]:
    """The first of the late steps where the rank is not late before it and is from it on; and from which step on to count."""
    first = int(late.argmax()) if late.any() else 0
    if first == 0 or len(values) - first < 2 or not late[first:].all():
        return None, 0
    return first, first


def _confidence(why: Why, steps: int) -> ConfidenceLevel:
    if why.explained_ratio < EXPLAINED_RATIO:
        return "low"
    return "high" if steps >= 3 else "medium"


def _group_of(table: Table, matched: Matched, found: Arrivals, place: int) -> str | None:
    """The group in which others wait most for this rank."""
    if not len(matched):
        return None
    waited = np.bincount(matched.instance, weights=found.waiting_ns, minlength=len(matched))
    mine = table.rows.member[found.last] == place
    if not mine.any():
        return None
    group = table.rows.group[found.last[mine]]
    return table.groups[int(np.bincount(group, weights=waited[mine]).argmax())].name
