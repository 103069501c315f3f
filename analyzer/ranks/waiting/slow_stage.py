"""The stage of a pipeline that sets the pace: its layers, or the device or the host of its only rank."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np

from analyzer.ranks.alignment.table import Table
from analyzer.ranks.document import CauseClass, LateRank, WhatIf
from analyzer.ranks.waiting.causes import Why, host_beyond, why_late
from analyzer.ranks.waiting.late import LATE_RATIO, STEP_RATIO, Lateness, since_when, what_if_saved
from analyzer.ranks.waiting.replay import Replay
from analyzer.ranks.waiting.stages import SLOW_STAGE_RATIO, Pipeline
from analyzer.spans.arrays import FloatArray

# No balance of layers mends them. Of anything else it is the layers.
_OF_THE_RANK = ("device", "host")
_EITHER = (
    "; with no shapes recorded (record_shapes=True) more layers and a slower device look alike: layers moved to other stages help "
    "either way"
)


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
    since, of = _stage_since(table, pipe, place, STEP_RATIO * replay.as_recorded_ns)
    late = LateRank(
        rank=table.ranks[place],
        group=None,
        steps_late=steps if since is None else of,
        of=steps if since is None else of,
        since_step=since,
        waited_ns_per_step=balanced[0].saved_ns_per_step,
        cause="stage",
        cause_detail=f"stage {pipe.slowest} of the pipeline works {pipe.ratio:.2f} times as long as the others do"
        + ("" if pipe.stated else " (a pipeline by who sends to whom; it may be a ring)"),
        explained_ratio=1.0,
        confidence="high" if steps >= 3 else "medium",
    )
    step_ns = replay.as_recorded_ns
    what_if: tuple[WhatIf, ...] = ()
    own = why_lone_stage(table, pipe, place)
    if own is not None and own.lacks_shapes:
        late = msgspec.structs.replace(late, cause_detail=f"{late.cause_detail}{_EITHER}")
    elif own is not None and own.cause in _OF_THE_RANK:
        left = _as_others(table, pipe, place, own.cause, replay)
        saved = step_ns - replay.step_ns(left, replay.transfer_ns)
        what_if = (what_if_saved(f"rank {late.rank} as the other stages", "rank", step_ns, saved),)
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


def _stage_since(table: Table, pipe: Pipeline, place: int, floor_ns: float) -> tuple[int | None, int]:
    """From which step on a rank works longer than those of other stages, None from the first; and how many steps that are."""
    rows = table.rows
    numbers, step = np.unique(rows.step, return_inverse=True)
    shape = (len(table.summaries), len(numbers))
    work = np.bincount(rows.member * len(numbers) + step, weights=rows.own_ns, minlength=shape[0] * shape[1]).reshape(
        shape
    )
    beyond = work[place] - np.median(work[pipe.stage != pipe.stage[place]], axis=0)
    since, chosen = since_when(beyond, beyond >= floor_ns)
    return (None, len(numbers)) if since is None else (int(numbers[since]), len(numbers) - chosen)


def why_lone_stage(table: Table, pipe: Pipeline, place: int) -> Why | None:
    """Why the only rank of a stage works longer than those of the others; None where it is not the only one."""
    if int((pipe.stage == pipe.slowest).sum()) > 1:
        return None
    others = [one for at, one in enumerate(table.summaries) if at != place]
    excess = float(pipe.work_ns[pipe.slowest] * (1 - 1 / pipe.ratio))
    return why_late(table.summaries[place], others, excess)


def _as_others(table: Table, pipe: Pipeline, place: int, cause: CauseClass, replay: Replay) -> FloatArray:
    """What every rank does in front of each row where one does what the other stages do, shape (rows,).

    A device is slower in all that it computes. What a host spends more is taken from where it spends it: in the first pass of a
    step it delays every stage behind it, spread over all passes it would delay none.
    """
    mine = table.rows.member == place
    if cause != "host":
        return np.where(mine, replay.own_ns / pipe.ratio, replay.own_ns)
    late = table.summaries[place]
    others = [one for at, one in enumerate(table.summaries) if at != place]
    left = replay.own_ns.copy()
    for what, beyond in host_beyond(late, others).items():
        spent = np.array(late.collectives.own_ns.get(what, np.zeros(int(mine.sum()))), dtype=np.float64)
        whole = float(sum(step.causes.get(what, 0) for step in late.steps))
        if beyond > 0 and whole:
            left[mine] -= spent * min(beyond * len(late.steps) / whole, 1.0)
    return np.maximum(left, 0.0)
