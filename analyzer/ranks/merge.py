"""Summaries of ranks to the job: who holds it up, why, since when, and what it would take without.

Needs summaries only. Memory is the columns of all collectives, some 100 bytes each, whatever the traces' size.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np

from analyzer.ranks.alignment.borne_out import Judged, borne_out, judged
from analyzer.ranks.alignment.clocks import Clocks
from analyzer.ranks.alignment.groups_of_messages import with_groups_of_messages
from analyzer.ranks.alignment.groups_of_threads import with_groups_of_threads
from analyzer.ranks.alignment.matching import Matched, match
from analyzer.ranks.alignment.roll import Roll, call_the_roll
from analyzer.ranks.alignment.steps import counted_alike, same_steps
from analyzer.ranks.alignment.table import Table, table
from analyzer.ranks.alignment.unmatched import share_steps, why_unmatched
from analyzer.ranks.document import Clock, Failed, Job, MatchCount, OtherLoop, PipelinePart, Stage, Turns, WhatIf
from analyzer.ranks.rows import group_rows, rank_rows
from analyzer.ranks.summary import RankSummary
from analyzer.ranks.verdict import WORTH_RATIO, Grounds, job_verdict
from analyzer.ranks.waiting.arrivals import Arrivals, arrivals
from analyzer.ranks.waiting.bandwidth import Links, links, uneven
from analyzer.ranks.waiting.contended import contended
from analyzer.ranks.waiting.contrast import contention, contrast
from analyzer.ranks.waiting.cores import beyond_lacking, starved
from analyzer.ranks.waiting.ideals import SHARED, all_alike, balanced, worth
from analyzer.ranks.waiting.late import Lateness, lateness
from analyzer.ranks.waiting.other_loops import other_loops
from analyzer.ranks.waiting.pace import pace
from analyzer.ranks.waiting.peers import Peers, hold_against_peers
from analyzer.ranks.waiting.replay import Replay
from analyzer.ranks.waiting.slow_links import link_name, slow_links
from analyzer.ranks.waiting.slow_stage import slow_stage
from analyzer.ranks.waiting.stages import Pipeline, messages_a_step, pipeline, programs
from analyzer.ranks.waiting.turns import by_turns, of_work, why_by_turns
from analyzer.units import count, duration


class Measured(msgspec.Struct, frozen=True):
    """What is measured of the ranks together, before it becomes a document."""

    table: Table
    matched: Matched
    clocks: Clocks
    found: Arrivals
    pipeline: Pipeline | None
    lateness: Lateness
    links: Links
    unlike_ns: float
    why_unsaid: str
    step_ns: float
    what_if: tuple[WhatIf, ...]
    judged: Judged
    faithful: bool
    turns: str | None
    without_peers_ns: float
    why_none: str | None
    other_loops: tuple[OtherLoop, ...]
    pace: str


# Played again as it was recorded, the job takes as long as it did; where it does not, what is played is another job.
_FAITHFUL_RATIO = 0.1


def merge(summaries: Sequence[RankSummary], failed: Sequence[Failed] = (), name: str = "") -> Job:
    """The job of some ranks.

    Args:
        summaries: Of every file that could be read.
        failed: The files that could not.
        name: What to call the job: its folder.
    """
    roll = call_the_roll(summaries, failed)
    measured = measure(roll.used)
    return _document(roll, measured, name)


def measure(ranks: Sequence[RankSummary]) -> Measured:
    """Holds ranks against each other.

    Args:
        ranks: Ranks that are known and distinct.
    """
    aligned = counted_alike(ranks)
    rows = table(with_groups_of_messages(with_groups_of_threads(same_steps(aligned))))
    matched, clocks = borne_out(rows, match(rows))
    error_ns = clocks.error_ns or 0
    found = arrivals(rows, matched, clocks)
    seen = judged(rows, matched, found.waits)
    pipe = pipeline(rows)
    step_ns = float(rows.step_ns.max(initial=0.0))
    moved = links(rows, matched, found)
    replay = Replay(rows, matched, found, clocks.start_ns)
    # Ranks that share some of their steps with one other each do not make up one job.
    together = share_steps(rows)
    faithful = together and abs(replay.as_recorded_ns - step_ns) <= _FAITHFUL_RATIO * step_ns
    late, what_if, unlike_ns = Lateness((), (), {}), tuple[WhatIf, ...](), 0.0
    why_unsaid, turns, without_peers_ns = "", None, 0.0
    if faithful:
        at_most = _lacks_ranks(rows, seen)
        peers = hold_against_peers(rows, programs(rows, pipe))
        late = lateness(rows, matched, found, peers, replay, error_ns, at_most=at_most)
        alike = all_alike(replay, peers)
        turned_ns = max((one.saved_ns_per_step for one in alike), default=0) if by_turns(peers) else 0
        cores = beyond_lacking(rows.summaries, late, replay.as_recorded_ns, turned_ns)
        late, why_unsaid = cores.late, cores.why_unsaid
        # As their peers ranks would lack cores all the same.
        lacked_ns = cores.lacked_ratio * replay.as_recorded_ns
        alike = tuple(one for one in alike if one.saved_ns_per_step > lacked_ns)
        if turned_ns <= lacked_ns:
            turned_ns = 0
        # Between two passes a stage of a server waits for the last one's answer: that is no work of its own.
        named = [one.rank for one in late.late]
        evened = () if pipe is not None and pipe.one_way else balanced(replay, rows, pipe, peers, named)
        linked = slow_links(rows, moved, replay)
        unlike_ns = replay.as_recorded_ns - replay.step_ns(replay.own_ns, moved.alike_ns)
        paced = slow_stage(rows, pipe, evened, replay)
        if any(one.cause != "stage" for one in paced.late):
            # Its layers are as many as those of the others: there is nothing to balance.
            evened = ()
        if turned_ns:
            turns = why_by_turns(rows, peers)
            alike = tuple(one for one in alike if one.ideal == SHARED or not of_work(turns))
        played = (*late.what_if, *paced.what_if, *alike, *linked.what_if, *evened)
        late = msgspec.structs.replace(late, late=(*late.late, *paced.late, *linked.late))
        without_peers_ns = _without_peers_ns(rows, found, peers, pipe)
        what_if = worth(played, at_most=at_most)
    return Measured(
        rows, matched, clocks, found, pipe, late, moved, unlike_ns, why_unsaid, step_ns, what_if, seen, faithful, turns,
        without_peers_ns, None if len(matched) and together else why_unmatched(rows), other_loops(aligned),
        pace(rows, moved.every),
    )  # fmt: skip


def _lacks_ranks(rows: Table, seen: Judged) -> bool:
    """Whether ranks are missing that others may wait for as well."""
    world = max((one.world_size or 0 for one in rows.summaries), default=0)
    return seen.lacking_ns > 0 or len(rows.summaries) < world


# A rank that has peers in fewer of its steps was hardly held against any.
_HELD_RATIO = 0.5


def _without_peers_ns(rows: Table, found: Arrivals, peers: Peers, pipe: Pipeline | None) -> float:
    """What ranks wait for one another a step in the mean, where some rank has nobody to be held against; else 0.

    A stage of one rank is held against the other stages.
    """
    alone = np.isnan(peers.excess_ns).mean(axis=1) > _HELD_RATIO if peers.steps else np.zeros(0, dtype=bool)
    if pipe is not None:
        alone = alone & (np.bincount(pipe.stage)[pipe.stage] > 1)
    steps = sum(len(one.steps) for one in rows.summaries)
    return float(found.waiting_ns.sum()) / max(steps, 1) if alone.any() else 0.0


# Of stages that have enough to do more than half compute at a time.
_IN_TURN_RATIO = 0.5


def _document(roll: Roll, measured: Measured, name: str) -> Job:
    rows, found, matched = measured.table, measured.found, measured.matched
    ranks, steps = rank_rows(roll, rows, matched, found, measured.lateness.cost_ns, measured.pipeline)
    step_ns = int(measured.step_ns)
    return Job(
        name=name,
        world_size=roll.world_size,
        present=len(roll.used),
        step_ns=step_ns,
        verdict=job_verdict(roll, measured.lateness.late, measured.what_if, step_ns, _grounds(measured)),
        steps=steps,
        ranks=ranks,
        groups=group_rows(rows),
        late=measured.lateness.late,
        what_if=measured.what_if,
        links=measured.links.every,
        uneven=uneven(rows, matched, found),
        pipeline=_pipeline(measured),
        clock=Clock(aligned=measured.clocks.aligned, error_ns=measured.clocks.error_ns, hosts=measured.clocks.hosts),
        contrast=contrast(rows),
        contention=contention(rows),
        contended=contended(rows, matched, found),
        other_loops=measured.other_loops,
        turns=_turns(measured),
        together=measured.lateness.together,
        pace=measured.pace,
        matched=MatchCount(
            matched=len(matched.rows),
            alone=matched.alone,
            contradicting=matched.contradicting,
            why_none=measured.why_none,
        ),
        failed=roll.failed,
    )


def _turns(measured: Measured) -> Turns | None:
    alike = next((one for one in measured.what_if if one.scope == "all ranks"), None)
    if measured.turns is None:
        return None
    if alike is None:
        return Turns(why=measured.turns, saved_ns_per_step=0)
    return Turns(why=measured.turns, saved_ns_per_step=alike.saved_ns_per_step, ideal=alike.ideal)


def _grounds(measured: Measured) -> Grounds:
    lacked = starved(measured.table.summaries)
    return Grounds(
        matched=len(measured.matched),
        why_none=measured.why_none,
        other_loops=measured.other_loops,
        judged=measured.judged,
        error_ns=measured.clocks.error_ns or 0,
        faithful=measured.faithful,
        uncompared_ns=measured.links.uncompared_ns,
        pace=measured.pace,
        unlike=_unlike(measured),
        seldom=measured.lateness.seldom,
        why_unsaid=measured.why_unsaid,
        starved=lacked.told,
        apart=lacked.apart,
        turns=measured.turns,
        in_turn=_in_turn(measured),
        together=measured.lateness.together,
        without_peers_ns=measured.without_peers_ns,
    )


def _in_turn(measured: Measured) -> str:
    """That stages which only send ahead work one after the other, in words; empty where they work at once."""
    pipe = measured.pipeline
    if pipe is None or not pipe.one_way:
        return ""
    many, at_once = int(pipe.stage.max()) + 1, pipe.computing(measured.table)
    if at_once > _IN_TURN_RATIO * many:
        return ""
    return (
        f"No rank holds the others up: the {many} stages of the pipeline work in turn, {at_once:.1f} of them compute at a time. "
        "Each waits for the batch that another one has: as many batches on their way as there are stages let all work at once. "
        "Messages go one way here; what the first stage waits for is in no trace."
    )


def _unlike(measured: Measured) -> str:
    """That of equal groups as many are much slower as are not, in words; empty where none is, or where it costs little."""
    unlike = measured.links.unlike
    if unlike is None or measured.unlike_ns < WORTH_RATIO * measured.step_ns:
        return ""
    name, kind, slower = link_name(unlike.link), unlike.link.kind, f"{unlike.slower:.1f} times as long"
    less = f"the step takes {duration(measured.unlike_ns)} less"
    if unlike.many > 1 or unlike.equals > 1:
        among = name if unlike.many == 1 else f"{count(unlike.many, 'link')}, among them {name},"
        takes = "takes" if unlike.many == 1 else "take"
        return (
            f"{among} {takes} {slower} for the same {kind} as {count(unlike.equals, 'equal one')}: as fast as those {less}; "
            "which of them are as they should be cannot be told."
        )
    return (
        f"{name} takes {slower} for the same {kind} as the one equal to it: as fast as that {less}; which of the two is as it "
        "should be cannot be told."
    )


def _pipeline(measured: Measured) -> PipelinePart | None:
    pipe, rows = measured.pipeline, measured.table
    if pipe is None:
        return None
    pairs = rows.pairwise[rows.rows.kind[measured.matched.rows]]
    waited = float(measured.found.waiting_ns[pairs].sum())
    whole = float(sum(one.window_ns for one in rows.summaries))
    ranks = np.array(rows.ranks, dtype=np.int64)
    return PipelinePart(
        stages=tuple(
            Stage(stage=stage, ranks=tuple(ranks[pipe.stage == stage].tolist()), work_ns=int(work))
            for stage, work in enumerate(pipe.work_ns.tolist())
        ),
        bubble_ratio=waited / whole if whole else 0.0,
        slowest=pipe.slowest,
        stated=pipe.stated,
        messages=messages_a_step(rows),
    )
