"""The job played again with its work divided as it might be: alike among peers, evenly among the stages of a pipeline."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np

from analyzer.ranks.alignment.table import Table
from analyzer.ranks.document import WhatIf
from analyzer.ranks.waiting.late import ALL_AS_PEERS, what_if_saved
from analyzer.ranks.waiting.peers import Peers
from analyzer.ranks.waiting.replay import Replay
from analyzer.ranks.waiting.stages import SLOW_STAGE_RATIO, Pipeline
from analyzer.ranks.waiting.turns import by_turns
from analyzer.spans.arrays import FloatArray

# Of a step of 300 ms nobody asks how 1 ms goes.
_WORTH_RATIO = 0.005
SHARED = "the same work shared evenly"


def worth(played: Sequence[WhatIf], *, at_most: bool) -> tuple[WhatIf, ...]:
    """What saves half a percent of the step and more, the most first; of what is called alike the first one."""
    apart = {one.ideal: one for one in reversed(played)}.values()
    asked = (one for one in apart if one.saved_ns_per_step > _WORTH_RATIO * (one.step_ns + one.saved_ns_per_step))
    kept = (msgspec.structs.replace(one, at_most=at_most) for one in asked)
    return tuple(sorted(kept, key=lambda one: -one.saved_ns_per_step))


def all_alike(replay: Replay, peers: Peers) -> tuple[WhatIf, ...]:
    """Every rank doing what its peers do, and, where they take turns, all doing the same share."""
    if not len(peers.ideal_ns):
        return ()
    alike = _played(replay, ALL_AS_PEERS, "all ranks", peers.ideal_ns, peers.ideal_tail_ns)
    if not by_turns(peers):
        return (alike,)
    shared = _played(replay, SHARED, "all ranks", peers.shared_ns)
    return (alike, shared)


def balanced(
    replay: Replay, rows: Table, pipe: Pipeline | None, peers: Peers, late: Sequence[int]
) -> tuple[WhatIf, ...]:
    """The stage that sets the pace, and the last one, working as long as the stages do in the mean; the others do the rest.

    Args:
        replay: The job, to be played again.
        rows: The rows.
        pipe: The stages.
        peers: Each rank beside its peers.
        late: Ranks that are late by themselves: what they do beyond their peers no balance takes away, and they are played without.
    """
    if pipe is None:
        return ()
    places = np.flatnonzero(np.isin(rows.ranks, late))
    own_ns = np.where(np.isin(rows.rows.member, places), peers.ideal_ns, replay.own_ns)
    tail_ns = rows.tail_ns.astype(np.float64)
    tail_ns[places] = peers.ideal_tail_ns[places]
    without_ns = replay.step_ns(own_ns, replay.transfer_ns, tail_ns)
    last = len(pipe.work_ns) - 1
    made = []
    for stage in dict.fromkeys((pipe.slowest, last)):
        mean = float(pipe.work_ns.mean())
        if mean * SLOW_STAGE_RATIO < pipe.work_ns[stage]:
            work = pipe.work_ns + (pipe.work_ns[stage] - mean) / last
            work[stage] = mean
            ratio = work / np.maximum(pipe.work_ns, 1.0)
            own = own_ns * ratio[pipe.stage[rows.rows.member]]
            saved = without_ns - replay.step_ns(own, replay.transfer_ns, tail_ns)
            made.append(what_if_saved(f"pipeline stage {stage} balanced", "stage", replay.as_recorded_ns, saved))
    return tuple(made)


def _played(replay: Replay, ideal: str, scope: str, own_ns: FloatArray, tail_ns: FloatArray | None = None) -> WhatIf:
    """The step with other work of the ranks, and their transfers as they were; None is the tail as recorded."""
    step_ns = replay.as_recorded_ns
    return what_if_saved(ideal, scope, step_ns, step_ns - replay.step_ns(own_ns, replay.transfer_ns, tail_ns))
