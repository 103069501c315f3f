"""Late ranks: those without whose extra work the job's step would be shorter, and why they are late."""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec
import numpy as np

from analyzer.ranks.alignment.matching import Matched
from analyzer.ranks.alignment.table import Table
from analyzer.ranks.document import ConfidenceLevel, LateRank, Link, WhatIf
from analyzer.ranks.waiting.arrivals import Arrivals
from analyzer.ranks.waiting.bandwidth import Links
from analyzer.ranks.waiting.causes import EXPLAINED_RATIO, Why, why_late
from analyzer.ranks.waiting.peers import Peers
from analyzer.ranks.waiting.replay import Replay
from analyzer.ranks.waiting.stages import SLOW_STAGE_RATIO, Pipeline
from analyzer.spans.arrays import FloatArray

# What a late rank has to cost the job, as a share of the step: half of what TraceML warns from, which rule CO003 asks for.
LATE_RATIO = 0.05
# In so many of the steps the rank has to be late, or it is chance (rules.md, CO003).
CONSISTENT_RATIO = 0.6
# How many standard errors the mean lateness lies above nothing.
_SURE = 2.0
# In a step the rank is late where it does more than its peers by this share of the step.
_STEP_RATIO = 0.02
# Each is one replay of the job: so many ranks can matter.
_PLAYED = 8
# Several ranks are named together where that saves so much more than the latest alone.
_MORE_RATIO = 1.25
_SLOWEST_RATIO = 0.03


class Lateness(msgspec.Struct, frozen=True):
    """Late ranks, what the job would take without them, and what each rank that was played costs."""

    late: tuple[LateRank, ...]
    what_if: tuple[WhatIf, ...]
    cost_ns: dict[int, float]


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
    floor = max(_STEP_RATIO * step_ns, float(error_ns))
    ranked = np.argsort(-mean, kind="stable")
    worth = [int(place) for place in ranked[:_PLAYED] if mean[place] >= floor]
    costs = {
        place: step_ns - replay.step_ns(_without(table, peers, [place], replay), replay.transfer_ns) for place in worth
    }
    late = [_late(table, matched, found, peers, place, cost, floor) for place, cost in costs.items() if cost > 0]
    counted_ones = (one for one in late if one is not None and _counts(one, step_ns))
    kept = tuple(sorted((msgspec.structs.replace(one, at_most=at_most) for one in counted_ones), key=_worst))
    ranks = table.ranks
    what_if = [_what_if(f"rank {one.rank} as its peers", "rank", step_ns, one.waited_ns_per_step) for one in kept]
    what_if += _together(table, peers, replay, worth, kept)
    slowest = ranked[: max(math.ceil(_SLOWEST_RATIO * len(ranked)), 1)].tolist()
    if kept and len(slowest) > 1:
        saved = step_ns - replay.step_ns(_without(table, peers, slowest, replay), replay.transfer_ns)
        what_if.append(_what_if("the slowest 3 % of ranks as their peers", "ranks", step_ns, saved))
    return Lateness(kept, tuple(what_if), {ranks[place]: max(cost, 0.0) for place, cost in costs.items()})


def _together(
    table: Table, peers: Peers, replay: Replay, worth: Sequence[int], late: Sequence[LateRank]
) -> list[WhatIf]:
    """Several ranks that do more than their peers, where that is worth more than the latest of them alone.

    Of two that are equally late each alone costs nothing: the others would wait for the other one.
    """
    if len(worth) < 2:
        return []
    step_ns = replay.as_recorded_ns
    saved = step_ns - replay.step_ns(_without(table, peers, list(worth), replay), replay.transfer_ns)
    alone = max((one.waited_ns_per_step for one in late), default=0)
    if saved < max(LATE_RATIO * step_ns, _MORE_RATIO * alone):
        return []
    names = ", ".join(str(table.ranks[place]) for place in sorted(worth))
    return [_what_if(f"ranks {names} as their peers", "several ranks", step_ns, saved)]


def _what_if(ideal: str, scope: str, step_ns: float, saved_ns: float) -> WhatIf:
    left = max(step_ns - saved_ns, 1.0)
    return WhatIf(
        ideal=ideal, scope=scope, step_ns=int(left), saved_ns_per_step=int(saved_ns), slowdown=float(step_ns / left)
    )


def _without(table: Table, peers: Peers, places: list[int], replay: Replay) -> FloatArray:
    """Work where some ranks do what their peers do."""
    chosen = np.isin(table.rows.member, places)
    return np.where(chosen, peers.ideal_ns, replay.own_ns)


def _counts(late: LateRank, step_ns: float) -> bool:
    return late.waited_ns_per_step >= LATE_RATIO * step_ns and late.steps_late >= CONSISTENT_RATIO * late.of


def _worst(late: LateRank) -> tuple[int, int]:
    return -late.waited_ns_per_step, late.rank


def _late(
    table: Table, matched: Matched, found: Arrivals, peers: Peers, place: int, cost_ns: float, floor_ns: float
) -> LateRank | None:
    mine = peers.excess_ns[place]
    seen = ~np.isnan(mine)
    values = mine[seen]
    spread = float(values.std(ddof=1)) / math.sqrt(len(values)) if len(values) > 1 else 0.0
    late = values >= floor_ns
    since, chosen = _since(values, late)
    # What came on in the middle is late from there on; before it the rank is not what it is now.
    if float(values.mean()) < _SURE * spread and since is None:
        return None
    members = np.flatnonzero(peers.label == peers.label[place])
    others = [table.summaries[one] for one in members.tolist() if one != place]
    why: Why = why_late(table.summaries[place], others, float(values.sum()) / _steps_of(table, peers, place))
    of = int(len(values) if since is None else len(values) - chosen)
    return LateRank(
        rank=table.ranks[place],
        group=_group_of(table, matched, found, place),
        steps_late=int(late[chosen:].sum()),
        of=of,
        since_step=None if since is None else int(np.array(peers.steps)[seen][since]),
        waited_ns_per_step=int(cost_ns),
        cause=why.cause,
        cause_detail=why.detail,
        explained_ratio=why.explained_ratio,
        confidence=_confidence(why, of),
    )


def _steps_of(table: Table, peers: Peers, place: int) -> int:
    """How many steps what a rank does beyond its peers is of: of those without collectives it lies in front of the next one."""
    behind = peers.steps[-1]
    whole = sum(step.number <= behind for step in table.summaries[place].steps)
    return max(whole - int(np.isnan(peers.excess_ns[place]).sum()), 1)


def _since(values: FloatArray, late: np.ndarray) -> tuple[int | None, int]:
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


def slow_stage(table: Table, pipe: Pipeline | None, balanced: Sequence[WhatIf], replay: Replay) -> Lateness:
    """The rank of the stage that sets the pace which works longest, where balancing that stage is worth it.

    A stage of one rank has no peers; where what it does beyond the other stages is its device's or its host's doing, no balance
    of layers mends that: then the rank itself is late.

    Args:
        table: The rows.
        pipe: The stages.
        balanced: What balancing them saves, that of the slowest first.
        replay: The job, to be played again.
    """
    if pipe is None or not balanced or pipe.ratio < SLOW_STAGE_RATIO:
        return Lateness((), (), {})
    steps = max((len(one.steps) for one in table.summaries), default=0)
    work = np.bincount(table.rows.member, weights=table.rows.own_ns, minlength=len(pipe.stage))
    place = int(np.where(pipe.stage == pipe.slowest, work, -1).argmax())
    late = LateRank(
        rank=table.ranks[place],
        group=None,
        steps_late=steps,
        of=steps,
        since_step=None,
        waited_ns_per_step=balanced[0].saved_ns_per_step,
        cause="stage",
        cause_detail=f"stage {pipe.slowest} of the pipeline works {pipe.ratio:.2f} times as long as the others do"
        + ("" if pipe.stated else " (a pipeline by who sends to whom; it may be a ring)"),
        explained_ratio=1.0,
        confidence="high" if steps >= 3 else "medium",
    )
    step_ns = replay.as_recorded_ns
    what_if: tuple[WhatIf, ...] = ()
    own = why_stage_is_late(table, pipe, place)
    if own is not None:
        left = np.where(table.rows.member == place, replay.own_ns / pipe.ratio, replay.own_ns)
        saved = step_ns - replay.step_ns(left, replay.transfer_ns)
        what_if = (_what_if(f"rank {late.rank} as the other stages", "rank", step_ns, saved),)
        late = msgspec.structs.replace(
            late,
            waited_ns_per_step=int(saved),
            cause=own.cause,
            cause_detail=own.detail,
            explained_ratio=own.explained_ratio,
        )
    if late.waited_ns_per_step < LATE_RATIO * step_ns:
        return Lateness((), (), {})
    return Lateness((late,), what_if, {})


def why_stage_is_late(table: Table, pipe: Pipeline, place: int) -> Why | None:
    """The class of the cause where the only rank of a stage is slower by its device or its host; None where it has more to do."""
    if int((pipe.stage == pipe.slowest).sum()) > 1:
        return None
    others = [one for at, one in enumerate(table.summaries) if at != place]
    excess = float(pipe.work_ns[pipe.slowest] * (1 - 1 / pipe.ratio))
    why = why_late(table.summaries[place], others, excess)
    return why if why.cause in ("device", "host") else None


def slow_links(table: Table, found: Links, replay: Replay) -> Lateness:
    """Slow links that are worth it, as late ranks of cause link, and what all of them together cost.

    Args:
        table: The rows.
        found: How fast data moves.
        replay: The job, to be played again.
    """
    if not found.slow:
        return Lateness((), (), {})
    step_ns = replay.as_recorded_ns
    steps = max((len(one.steps) for one in table.summaries), default=0)
    by_place: dict[tuple[str | None, tuple[int, ...]], list[tuple[Link, FloatArray]]] = {}
    for link, transfer_ns in found.slow:
        by_place.setdefault((link.group, link.ranks), []).append((link, transfer_ns))
    late = []
    for (group, ranks), several in by_place.items():
        together = np.minimum.reduce([transfer_ns for _, transfer_ns in several])
        saved = step_ns - replay.step_ns(replay.own_ns, together)
        if saved >= LATE_RATIO * step_ns and ranks:
            late.append(_late_link(group, ranks, several[0][0], int(saved), steps))
    everything = step_ns - replay.step_ns(replay.own_ns, found.ideal_ns)
    names = ", ".join(dict.fromkeys(link_name(link) for link, _ in found.slow))
    return Lateness(
        tuple(sorted(late, key=_worst)), (_what_if(f"{names} as fast as equal ones", "links", step_ns, everything),), {}
    )


def _late_link(group: str | None, ranks: tuple[int, ...], link: Link, saved_ns: int, steps: int) -> LateRank:
    slower = (link.peers_bytes_per_s or 0.0) / link.bytes_per_s
    return LateRank(
        rank=ranks[0],
        group=group,
        steps_late=steps,
        of=steps,
        since_step=None,
        waited_ns_per_step=saved_ns,
        cause="link",
        cause_detail=f"{link_name(link)} takes {slower:.1f} times as long for the same {link.kind} as equal ones do",
        explained_ratio=1.0,
        confidence="high" if link.count >= 10 else "medium",
    )


def link_name(link: Link) -> str:
    """The link in words."""
    if link.kind == "send":
        return f"the link between ranks {link.ranks[0]} and {link.ranks[1]}"
    members = ", ".join(map(str, link.ranks[:4])) + (", ..." if len(link.ranks) > 4 else "")
    return f"group {link.group} (ranks {members})"
