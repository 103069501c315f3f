"""Stages of a pipeline: which rank is in which, from who sends to whom, and which stage sets the pace."""

from __future__ import annotations

import msgspec
import numpy as np

from analyzer.ranks.table import Table
from analyzer.spans.arrays import FloatArray, Int64Array

# A stage this much slower than the middle of the others sets the pace: less is how layers happen to divide.
SLOW_STAGE_RATIO = 1.1


class Pipeline(msgspec.Struct, frozen=True):
    """The stages of a job.

    Args:
        stage: Of each rank, 0.., shape (ranks,).
        work_ns: What a rank of each stage works a step, in the median, shape (stages,).
        slowest: The stage that works longest.
        ratio: Its work over the median of the others'.
    """

    stage: Int64Array
    work_ns: FloatArray
    slowest: int
    ratio: float


def pipeline(table: Table) -> Pipeline | None:
    """The stages; None where no rank sends to another along a chain."""
    rows = table.rows
    pairs = rows.paired & (table.pairwise[rows.kind] if len(rows) else rows.paired)
    if not pairs.any():
        return None
    stage = _stages(table, pairs)
    if stage is None or stage.max() == 0:
        return None
    own = np.bincount(rows.member, weights=rows.own_ns, minlength=len(stage)) + table.tail_ns
    steps = np.array([max(len(one.steps), 1) for one in table.summaries])
    each = [np.sort((own / steps)[stage == one]) for one in range(int(stage.max()) + 1)]
    # The lower median: one late rank makes no slow stage.
    work = np.array([float(values[(len(values) - 1) // 2]) if len(values) else 0.0 for values in each])
    slowest = int(work.argmax())
    others = float(np.median(np.delete(work, slowest)))
    return Pipeline(stage, work, slowest, float(work[slowest] / others) if others else 1.0)


def _stages(table: Table, pairs: np.ndarray) -> Int64Array | None:
    """The place of each rank in the order of those it exchanges messages with; None where some rank has no place."""
    ranks = np.array(table.ranks, dtype=np.int64)
    rows = table.rows
    neighbours: dict[int, set[int]] = {}
    links = np.unique(np.stack([ranks[rows.member[pairs]], rows.peer[pairs]]), axis=1)
    for one, other in zip(*links.tolist(), strict=True):
        neighbours.setdefault(one, set()).add(other)
        neighbours.setdefault(other, set()).add(one)
    place: dict[int, int] = {}
    for rank in sorted(neighbours):
        if rank in place:
            continue
        # Ranks of one pipeline follow each other: the lowest is its first stage.
        chain = _reached(neighbours, rank)
        place |= {one: index for index, one in enumerate(sorted(chain))}
    if any(rank not in place for rank in ranks.tolist()):
        return None
    return np.array([place[rank] for rank in ranks.tolist()], dtype=np.int64)


def _reached(neighbours: dict[int, set[int]], rank: int) -> set[int]:
    seen, todo = {rank}, [rank]
    while todo:
        for other in neighbours[todo.pop()] - seen:
            seen.add(other)
            todo.append(other)
    return seen
