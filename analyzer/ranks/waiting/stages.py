"""Stages of a pipeline: which rank is in which, from who sends to whom, and which stage sets the pace."""

from __future__ import annotations

import re
from itertools import pairwise

import msgspec
import numpy as np
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components

from analyzer.ranks.alignment.table import Table
from analyzer.ranks.group_kinds import kind_of_group, shares_sequences
from analyzer.ranks.summary import RankSummary
from analyzer.spans.arrays import BoolArray, FloatArray, Int64Array

# A stage this much slower than the middle of the others sets the pace: less is how layers happen to divide.
SLOW_STAGE_RATIO = 1.1
_PIPELINE_WORDS = ("pipeline", "pipe", "pp")
# Of activations even one token has a thousand values.
_FEW_BYTES = 64


class Pipeline(msgspec.Struct, frozen=True):
    """The stages of a job.

    Args:
        stage: Of each rank, 0.., shape (ranks,).
        work_ns: What a rank of each stage works a step, in the median, shape (stages,).
        slowest: The stage that works longest.
        ratio: Its work over the median of the others'.
        stated: Whether the program calls the group one of a pipeline. Else two ranks that swap blocks, as in ring
            attention, look like two stages.
        one_way: Whether no stage sends anything back to one before it, as where a server only runs its model: what the first
            one waits for then is in no trace.
    """

    stage: Int64Array
    work_ns: FloatArray
    slowest: int
    ratio: float
    stated: bool = False
    one_way: bool = False

    def computing(self, table: Table) -> float:
        """How many stages compute at a time, in the mean over the steps."""
        ratio = [_computing(one) for one in table.summaries]
        return sum(float(np.median(np.array(ratio)[self.stage == one])) for one in np.unique(self.stage).tolist())


def _computing(summary: RankSummary) -> float:
    """Share of a rank's steps in which its device computes."""
    whole = sum(step.dur_ns for step in summary.steps)
    busy = sum(step.causes.get(cause, 0) for step in summary.steps for cause in ("compute", "copy"))
    return busy / whole if whole else 0.0


def messages_a_step(table: Table) -> int | None:
    """How many messages a rank sends to one other a step, in the median; None where none is sent."""
    rows = table.rows
    sends = np.array([name == "send" for name in table.kinds] or [False], dtype=bool)
    mine = np.flatnonzero(_messages(table) & sends[rows.kind])
    if not len(mine):
        return None
    _, counts = np.unique(np.stack([rows.member[mine], rows.peer[mine]]), axis=1, return_counts=True)
    steps = max(len(np.unique(rows.step[mine])), 1)
    return round(float(np.median(counts)) / steps)


def programs(table: Table, pipe: Pipeline | None) -> Int64Array:
    """A number that ranks share which run the same part of the model, shape (ranks,).

    Where ranks send to ranks that are not here nobody numbers the stages: then ranks share one that a group joins which the
    program says is of tensor or of data parallelism, and every other rank has a number of its own.
    """
    if pipe is not None:
        return pipe.stage
    pairs = _messages(table)
    many = len(table.summaries)
    if not pairs.any() or _in_a_ring(table, pairs) or _of_sequences(table, pairs):
        return np.zeros(many, dtype=np.int64)
    return _joined(table)


def _joined(table: Table) -> Int64Array:
    """A number that ranks share which stated groups of tensor or data parallelism join, shape (ranks,)."""
    rows, many = table.rows, len(table.summaries)
    # Without its members two groups of one name may be one or two.
    stated = np.array(
        [bool(one.ranks) and kind_of_group(one.description) in ("tp", "dp") for one in table.groups], dtype=bool
    )
    joins = stated[rows.group] & table.symmetric[rows.kind]
    size = many + len(table.groups)
    member, group = rows.member[joins], many + rows.group[joins]
    _, label = connected_components(
        coo_matrix((np.ones(len(member)), (member, group)), shape=(size, size)), directed=False
    )
    return np.asarray(label[:many], dtype=np.int64)


def _messages(table: Table) -> BoolArray:
    """Which rows are messages that may be of a pipeline: a number or two, as of a monitored barrier, are no activations."""
    rows = table.rows
    known = rows.paired & (table.pairwise[rows.kind] if len(rows) else rows.paired)
    few: BoolArray = np.fmax(rows.sent_bytes, rows.received_bytes) <= _FEW_BYTES
    return known & ~few


def pipeline(table: Table) -> Pipeline | None:
    """The stages; None where no rank sends to another along a chain, or to some that are not here."""
    rows = table.rows
    pairs = _messages(table)
    if not pairs.any() or not np.isin(rows.peer[pairs], table.ranks).all():
        return None
    if _in_a_ring(table, pairs) or _of_sequences(table, pairs):
        return None
    stated = _stated(table, pairs)
    stage = _stages(table, pairs, stated=stated)
    if stage is None or stage.max() == 0:
        return None
    own = np.bincount(rows.member, weights=rows.own_ns, minlength=len(stage)) + table.tail_ns
    steps = np.array([max(len(one.steps), 1) for one in table.summaries])
    each = [np.sort((own / steps)[stage == one]) for one in range(int(stage.max()) + 1)]
    # The lower median: one late rank makes no slow stage.
    work = np.array([float(values[(len(values) - 1) // 2]) if len(values) else 0.0 for values in each])
    slowest = int(work.argmax())
    others = float(np.median(np.delete(work, slowest)))
    ratio = float(work[slowest] / others) if others else 1.0
    return Pipeline(stage, work, slowest, ratio, stated, _one_way(table, pairs, stage))


def _one_way(table: Table, pairs: BoolArray, stage: Int64Array) -> bool:
    """Whether all messages go from a stage to a later one."""
    rows = table.rows
    order = np.argsort(table.ranks)
    peer = stage[order[np.searchsorted(np.array(table.ranks)[order], rows.peer[pairs])]]
    mine = stage[rows.member[pairs]]
    sends = np.array([name == "send" for name in table.kinds], dtype=bool)[rows.kind[pairs]]
    return bool(np.where(sends, mine < peer, peer < mine).all())


def _stated(table: Table, pairs: BoolArray) -> bool:
    """Whether all groups with messages are called a pipeline's."""
    words = [
        re.split(r"[^a-z]+", (table.groups[group].description or "").lower())
        for group in np.unique(table.rows.group[pairs]).tolist()
    ]
    return all(any(word in _PIPELINE_WORDS for word in one) for one in words)


def _of_sequences(table: Table, pairs: BoolArray) -> bool:
    """Whether all groups with messages are said to share sequences: of two ranks a ring looks like two stages."""
    return all(
        shares_sequences(table.groups[group].description) for group in np.unique(table.rows.group[pairs]).tolist()
    )


def _in_a_ring(table: Table, pairs: BoolArray) -> bool:
    """Whether ranks pass something around in one direction, as ring attention does: those are no stages."""
    rows = table.rows
    ranks = np.array(table.ranks, dtype=np.int64)[rows.member[pairs]]
    sends = np.array([name == "send" for name in table.kinds], dtype=bool)[rows.kind[pairs]]
    source = np.where(sends, ranks, rows.peer[pairs])
    target = np.where(sends, rows.peer[pairs], ranks)
    links = {*zip(source.tolist(), target.tolist(), strict=True)}
    one_way = [(a, b) for a, b in links if (b, a) not in links]
    if not one_way:
        return False
    names, places = np.unique(np.array(one_way), return_inverse=True)
    places = places.reshape(-1, 2)
    graph = coo_matrix((np.ones(len(places)), (places[:, 0], places[:, 1])), shape=(len(names),) * 2)
    found, _ = connected_components(graph, directed=True, connection="strong")
    return int(found) < len(names)


def _stages(table: Table, pairs: np.ndarray, *, stated: bool) -> Int64Array | None:
    """The place of each rank in the order of those it exchanges messages with; None where some rank has no place.

    Where nobody calls them a pipeline each has to talk to the next one: ranks that all talk to one alone are served by that one.
    """
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
        chain = sorted(_reached(neighbours, rank))
        if not stated and any(after not in neighbours[one] for one, after in pairwise(chain)):
            return None
        place |= {one: index for index, one in enumerate(chain)}
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
