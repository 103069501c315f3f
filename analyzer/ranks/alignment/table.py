"""All collectives of all ranks as one table of arrays, from summaries alone.

A row is a rank in a collective. 4,096 ranks of 600 collectives are 2.5 million rows of some 80 bytes.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np
import numpy.typing as npt

from analyzer.ranks.names import PAIRWISE, ROOTED, SYMMETRIC
from analyzer.ranks.process_group import GroupPart
from analyzer.ranks.summary import CollectiveColumns, RankSummary
from analyzer.spans.arrays import BoolArray, FloatArray, Int64Array

# What a rank spends in no collective, whatever it does meanwhile.
_NOT_OWN = "communication"


class GroupKey(msgspec.Struct, frozen=True):
    """A process group of the job: what it is called and who is in it; `ranks` empty where nobody says."""

    name: str | None
    ranks: tuple[int, ...]
    size: int | None
    description: str | None = msgspec.field(default=None)


class Rows(msgspec.Struct, frozen=True):
    """Arrays of shape (rows,), sorted by rank and when they could begin.

    Args:
        member: Place of the rank in `Table.summaries`.
        step: Number of the step as the program counts.
        group: Place in `Table.groups`.
        kind: Place in `Table.kinds`.
        sequence: Number within the group; means something where `numbered`.
        numbered: Whether torch numbered it.
        peer: The other rank of a message; means something where `paired`.
        paired: Whether it is a message between two ranks.
        sent_bytes: What the rank puts in, NaN where unknown.
        received_bytes: What it gets out, NaN where unknown.
        start_ns: On the rank's own clock, from the table's zero.
        dur_ns: How long the rank is in it.
        ready_ns: When it could begin: before its start where it queues on its stream behind another.
        stream: The device's stream, or the row of the thread.
        exposed_ns: How much of that nothing hides; where two collectives run at once it is the first one's.
        computing_ns: How much of `dur_ns` the device computes meanwhile, NaN where unknown.
        own_ns: What lies between when the collective before and this one could begin, without waiting for collectives.
        stop: Number of the kernel, which the messages of a batch share; grows by one from row to row else.
    """

    member: Int64Array
    step: Int64Array
    group: Int64Array
    kind: Int64Array
    sequence: Int64Array
    numbered: BoolArray
    peer: Int64Array
    paired: BoolArray
    sent_bytes: FloatArray
    received_bytes: FloatArray
    start_ns: Int64Array
    dur_ns: Int64Array
    ready_ns: Int64Array
    stream: Int64Array
    exposed_ns: Int64Array
    computing_ns: FloatArray
    own_ns: Int64Array
    stop: Int64Array

    @property
    def batched(self) -> BoolArray:
        """Which rows share their kernel with other messages, shape (rows,)."""
        return np.asarray(np.bincount(self.stop)[self.stop] > 1 if len(self) else np.zeros(0, dtype=bool), dtype=bool)

    @property
    def leads(self) -> BoolArray:
        """Which rows are the first of their kernel, shape (rows,)."""
        return np.append(np.ones(min(len(self), 1), dtype=bool), np.diff(self.stop) > 0)

    def __len__(self) -> int:
        return len(self.member)


class Table(msgspec.Struct, frozen=True, dict=True):
    """The job's collectives and what they refer to.

    Args:
        summaries: The ranks, by rank, kernels and collectives given up.
        rows: All collectives.
        groups: Process groups.
        kinds: Names of kinds.
        symmetric: Which kinds end for all members together, shape (kinds,).
        pairwise: Which kinds are messages between two ranks, shape (kinds,).
        zero_ns: The table's zero on the ranks' own clocks.
        step_ns: Mean length of each rank's used steps, shape (ranks,).
        tail_ns: What each rank does behind its last collective, shape (ranks,).
    """

    summaries: tuple[RankSummary, ...]
    rows: Rows
    groups: tuple[GroupKey, ...]
    kinds: tuple[str, ...]
    symmetric: BoolArray
    pairwise: BoolArray
    zero_ns: int
    step_ns: FloatArray
    tail_ns: Int64Array

    @property
    def ranks(self) -> tuple[int, ...]:
        """Rank of each summary."""
        return tuple(one.rank for one in self.summaries if one.rank is not None)


def table(summaries: Sequence[RankSummary]) -> Table:
    """Puts summaries together.

    Args:
        summaries: Ranks that are known and distinct.
    """
    ordered = sorted(summaries, key=lambda one: one.rank or 0)
    groups, kinds = dict[GroupKey, int](), dict[str, int]()
    zero = min((one.origin_ns for one in ordered), default=0)
    parts = [_columns(place, one, zero, groups, kinds) for place, one in enumerate(ordered)]
    # Without any rank the columns are empty, but there.
    parts = parts or [_columns(0, _NOBODY, zero, groups, kinds)]
    joined = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    joined["stop"] = np.cumsum(joined["stop"]) - 1
    names, rows = tuple(kinds), Rows(**joined)
    among_two = _among_two(ordered, rows, tuple(groups), len(names))
    return Table(
        summaries=tuple(ordered),
        rows=rows,
        groups=tuple(groups),
        kinds=names,
        symmetric=np.array(
            [name in SYMMETRIC or (name in ROOTED and two) for name, two in zip(names, among_two, strict=True)],
            dtype=bool,
        ),
        pairwise=np.array([name in PAIRWISE for name in names], dtype=bool),
        zero_ns=zero,
        step_ns=np.array([one.window_ns / max(len(one.steps), 1) for one in ordered]),
        tail_ns=np.array([_own_tail(one) for one in ordered], dtype=np.int64),
    )


def _among_two(ranks: Sequence[RankSummary], rows: Rows, groups: tuple[GroupKey, ...], kinds: int) -> BoolArray:
    """Which kinds only groups of two ranks call, which hosts without a device are in; shape (kinds,)."""
    if any(one.device_kind != "cpu" for one in ranks):
        return np.zeros(kinds, dtype=bool)
    # Of a group of which nobody says who is in it, the ranks of the job may be.
    world = max((one.world_size or 0 for one in ranks), default=0)
    members = np.array([group.size or len(group.ranks) or world for group in groups] or [0], dtype=np.int64)
    others = np.bincount(rows.kind[members[rows.group] != 2], minlength=kinds)
    return np.asarray(others == 0, dtype=bool)


_NOBODY = RankSummary(
    tool_version="", file="", sha256="", rank=0, rank_source=None, world_size=None, host=None, device=None, device_kind="cpu",
    devices=1, origin_ns=0, trust="ok", doubts=(), bound_by="unknown", verdict="", steps=(), groups=(), kinds=(),
    collectives=CollectiveColumns(), tail_ns={}, kernels=(), findings=(),
)  # fmt: skip


def _own_tail(summary: RankSummary) -> int:
    return sum(ns for cause, ns in summary.tail_ns.items() if cause != _NOT_OWN)


def _columns(
    place: int, summary: RankSummary, zero: int, groups: dict[GroupKey, int], kinds: dict[str, int]
) -> dict[str, npt.NDArray[np.generic]]:
    columns = summary.collectives
    rows = len(columns.start_ns)
    group = np.array([groups.setdefault(_key(one), len(groups)) for one in summary.groups] or [0], dtype=np.int64)
    kind = np.array([kinds.setdefault(one, len(kinds)) for one in summary.kinds] or [0], dtype=np.int64)
    numbers = np.array([step.number for step in summary.steps] or [0], dtype=np.int64)
    own = np.zeros(rows, dtype=np.int64)
    for cause, values in columns.own_ns.items():
        if cause != _NOT_OWN:
            own += np.array(values, dtype=np.int64)
    sequence, numbered = _known(columns.sequence)
    peer, paired = _known(columns.peer)
    computing = columns.computing_ns
    ready = columns.start_ns if columns.ready_ns is None else columns.ready_ns
    return {
        "member": np.full(rows, place, dtype=np.int64),
        "step": numbers[np.array(columns.step, dtype=np.int64)],
        "group": group[np.array(columns.group, dtype=np.int64)],
        "kind": kind[np.array(columns.kind, dtype=np.int64)],
        "sequence": sequence,
        "numbered": numbered,
        "peer": peer,
        "paired": paired,
        "sent_bytes": np.array(columns.sent_bytes, dtype=np.float64),
        "received_bytes": np.array(columns.received_bytes, dtype=np.float64),
        "start_ns": np.array(columns.start_ns, dtype=np.int64) + (summary.origin_ns - zero),
        "dur_ns": np.array(columns.dur_ns, dtype=np.int64),
        "ready_ns": np.array(ready, dtype=np.int64) + (summary.origin_ns - zero),
        "stream": np.array(columns.stream, dtype=np.int64),
        "exposed_ns": np.array(columns.exposed_ns, dtype=np.int64),
        "computing_ns": np.full(rows, np.nan) if computing is None else np.array(computing, dtype=np.float64),
        "own_ns": own,
        "stop": _begins(columns, paired),
    }


def _begins(columns: CollectiveColumns, paired: BoolArray) -> Int64Array:
    """1 where a row begins a kernel, 0 where it is a further message of the one in front of it, shape (rows,)."""
    start, stream = np.array(columns.start_ns, dtype=np.int64), np.array(columns.stream, dtype=np.int64)
    further = (np.diff(start) == 0) & (np.diff(stream) == 0) & paired[1:] & paired[:-1]
    return np.append(np.ones(min(len(start), 1), dtype=np.int64), np.where(further, 0, 1))


def _key(group: GroupPart) -> GroupKey:
    # Members are a set: some list themselves first.
    return GroupKey(group.name, tuple(sorted(group.ranks)), group.size, group.description)


def _known(values: Sequence[int | None]) -> tuple[Int64Array, BoolArray]:
    known = np.array([value is not None for value in values], dtype=bool)
    return np.array([value or 0 for value in values], dtype=np.int64), known
