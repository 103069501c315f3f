"""The collectives of a rank's used steps, one row each: what the trace says of each, from its kernel or its range on the host.

A kernel of NCCL states group and number itself since torch 2.2 (kineto); before, they are looked up in the range on the host that
launched it, or, of a batch, in those before its launch. Each message of a batch has a row; all begin and end with the kernel.
Without a device the backend's own range (`gloo:all_reduce`) lasts as long as the collective.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np
import pandas as pd

from analyzer.facts import Facts
from analyzer.facts.communication.sizes import first_tensor
from analyzer.facts.device.launches import LaunchCalls, calls_of
from analyzer.job.batches import Batches
from analyzer.job.peers import other_of_two, own_rank, places_are_ranks, stated_places
from analyzer.job.queues import ready_ns
from analyzer.job.sending import since_waiting, until_going_on
from analyzer.job.threads import by_number
from analyzer.ranks.configured import configured_groups
from analyzer.ranks.names import PAIRWISE, kind_of
from analyzer.ranks.process_group import GroupPart
from analyzer.ranks.summary_part import MOST_RANKS
from analyzer.spans.arrays import Int64Array
from analyzer.spans.labels import codes_of, distinct_texts, matching, texts
from traces.messages import Message, parse_message
from traces.patterns import Pattern

_BACKEND = Pattern(r"(?:nccl|gloo|mpi|ucc|xccl|hccl|rccl):")
_PAIR = 2


class Calls(msgspec.Struct, frozen=True):
    """Rows by when they could begin; see `analyzer.ranks.summary.CollectiveColumns` for what the columns hold."""

    groups: tuple[GroupPart, ...]
    stated_groups: tuple[GroupPart, ...]
    kinds: tuple[str, ...]
    start_ns: Int64Array
    dur_ns: Int64Array
    ready_ns: Int64Array
    stream: Int64Array
    group: list[int]
    kind: list[int]
    sequence: list[int | None]
    peer: list[int | None]
    peer_place: list[int | None]
    sent_bytes: list[int | None]
    received_bytes: list[int | None]
    splits: dict[int, list[int]]


class _Row(msgspec.Struct):
    """What one collective is, as far as anything says it."""

    kind: str
    message: Message | None
    sent_bytes: int | None
    place: int | None = None


def collective_calls(facts: Facts) -> Calls:
    """All collectives that begin in the used steps, on the device that stands for the trace, or on the host without one."""
    if facts.device.main is None:
        start, dur, stream, rows = _host_rows(facts)
        return _collected(facts, start, dur, start, stream, rows)
    return _collected(facts, *_device_rows(facts))


def _device_rows(facts: Facts) -> tuple[Int64Array, Int64Array, Int64Array, Int64Array, list[_Row]]:
    """Start, duration, when it could begin, and stream of each; and what it is."""
    frame = facts.trace.kernels
    device = facts.device.all[0].device
    # What was issued before the used steps is no part of their first batch: every launch counts.
    every = np.flatnonzero((frame["device"].to_numpy() == device) & frame["collective"].to_numpy(dtype=bool))
    launch = calls_of(facts.device.launched, "kernels", every, len(frame))
    frame = frame.iloc[every]
    hosts = _HostRanges(facts)
    found = hosts.rows(texts(frame["name"]).tolist(), _messages(frame["message"]), launch)
    messages = np.array([rows[0].kind in PAIRWISE for rows in found], dtype=bool)
    ready = ready_ns(facts, every, launch, messages)
    order = np.lexsort((np.where(launch.known, launch.start_ns, ready), ready))
    frame, found = frame.iloc[order].assign(ready_ns=ready[order]), [found[place] for place in order.tolist()]
    inside = facts.steps.window.contains(frame["start_ns"].to_numpy())
    many = np.where(inside, np.array([len(rows) for rows in found], dtype=np.int64), 0)
    start, dur, could, stream = (
        np.repeat(frame[key].to_numpy(), many) for key in ("start_ns", "dur_ns", "ready_ns", "stream")
    )
    kept = [row for rows, used in zip(found, inside.tolist(), strict=True) if used for row in rows]
    return start, dur, could, stream, kept


def _messages(column: pd.Series[Any]) -> list[Message | None]:
    """The message of each row, parsed once per distinct text."""
    parsed: list[Message | None] = [*map(parse_message, distinct_texts(column)), None]
    return [parsed[code] for code in codes_of(column).tolist()]


class _HostRanges:
    """Ranges on the host that say what collective a launch belongs to."""

    def __init__(self, facts: Facts) -> None:
        frame = facts.trace.collectives
        frame = frame.assign(said=pd.Series(_messages(frame["message"]), frame.index, dtype=object))
        stated = frame["said"].notna().to_numpy()
        self._stated = _Spans(frame[stated], frame["said"][stated].tolist())
        self._batches = Batches(frame[stated])
        backend = matching(frame["name"], _BACKEND.match)
        ranges = frame[backend]
        self._named = _Spans(ranges, list(zip(texts(ranges["name"]).tolist(), _sizes(ranges), strict=True)))

    def rows(self, names: Sequence[str], stated: Sequence[Message | None], launch: LaunchCalls) -> list[list[_Row]]:
        """What each kernel of these names is: one row, or one for each message of a batch."""
        at = np.where(launch.known, launch.start_ns, np.nan)
        batches = self._batches.of(launch)
        found = []
        for place, (name, message, launched) in enumerate(zip(names, stated, at.tolist(), strict=True)):
            parts = batches.get(place, []) if message is None and self._stated.at(launched) is None else []
            one = [self.row(name, message, launched)]
            found.append([_Row(kind_of(part.name), part, None) for part in parts] or one)
        return found

    def row(self, name: str, message: Message | None, launched: float) -> _Row:
        """What the kernel of this name is, that says this of itself and was launched then (NaN: unknown)."""
        message = message or self._stated.at(launched)
        named = self._named.at(launched)
        kind = kind_of(message.name) if message else kind_of(named[0]) if named else kind_of(name)
        return _Row(kind, message, named[1] if named and message is None else None)


class _Spans:
    """Disjoint ranges, each with something to say."""

    def __init__(self, frame: pd.DataFrame, said: Sequence[Any]) -> None:
        self._start = frame["start_ns"].to_numpy()
        self._end = frame["end_ns"].to_numpy()
        self._said = said

    def at(self, instant: float) -> Any:
        """What the last range that began before an instant says, if it lasts until then; else None."""
        if np.isnan(instant) or not len(self._start):
            return None
        place = int(np.searchsorted(self._start, instant, side="right")) - 1
        return self._said[place] if place >= 0 and instant < self._end[place] else None


def _host_rows(facts: Facts) -> tuple[Int64Array, Int64Array, Int64Array, list[_Row]]:
    every = facts.trace.collectives
    frame = every[matching(every["name"], _BACKEND.match)]
    if not len(frame):
        frame = every[matching(every["name"], re.compile(r"c10d::").match)]
    frame = frame[facts.steps.window.contains(frame["start_ns"].to_numpy())]
    hosts = _HostRanges(facts)
    names, sizes = texts(frame["name"]).tolist(), _sizes(frame)
    rows = []
    for name, size, start, place in zip(
        names, sizes, frame["start_ns"].tolist(), stated_places(facts, frame), strict=True
    ):
        found = hosts.row(name, None, float(start))
        rows.append(_Row(kind_of(name), found.message, size, place))
    until = frame["start_ns"].to_numpy() + until_going_on(facts.trace, frame)
    start = np.minimum(since_waiting(facts.trace, frame), until)
    order = np.argsort(start, kind="stable")
    start, thread = start[order], by_number(facts.trace.threads)[frame["thread"].to_numpy()[order]]
    return start, until[order] - start, thread, [rows[place] for place in order.tolist()]


def _sizes(ranges: pd.DataFrame) -> list[int | None]:
    """Bytes of each range's first tensor, None where shapes were not recorded."""
    first = map(first_tensor, texts(ranges["input_dims"]).tolist(), texts(ranges["input_types"]).tolist())
    return [None if one is None else one.size_bytes for one in first]


def _collected(
    facts: Facts, start: Int64Array, dur: Int64Array, ready: Int64Array, stream: Int64Array, rows: Sequence[_Row]
) -> Calls:
    groups, kinds = _Groups(facts), dict[str, int]()
    splits = {
        place: list(row.message.sent_splits)
        for place, row in enumerate(rows)
        if row.message and row.message.sent_splits
    }
    stated = [row.message for row in rows]
    places, rank = [groups.place(row) for row in rows], own_rank(facts)
    ranks_said = places_are_ranks(facts)
    return Calls(
        group=places,
        groups=tuple(groups.found),
        stated_groups=groups.stated if facts.device.main is None else (),
        kind=[kinds.setdefault(row.kind, len(kinds)) for row in rows],
        kinds=tuple(kinds),
        start_ns=start,
        dur_ns=dur,
        ready_ns=ready,
        stream=stream,
        sequence=[None if message is None else message.sequence for message in stated],
        peer=[
            _peer(row, groups.found[place], rank, row.place if ranks_said else None)
            for row, place in zip(rows, places, strict=True)
        ],
        peer_place=[None if ranks_said else row.place for row in rows],
        sent_bytes=[row.sent_bytes if row.message is None else row.message.sent_bytes for row in rows],
        received_bytes=[None if message is None else message.received_bytes for message in stated],
        splits=splits,
    )


def _peer(row: _Row, group: GroupPart, rank: int | None, stated: int | None) -> int | None:
    if row.kind not in PAIRWISE:
        return None
    if row.message is not None:
        return row.message.target if row.kind == "send" else row.message.source
    return other_of_two(row.kind, group, rank) if stated is None else stated


class _Groups:
    """Process groups in the order they are met; what a message leaves out is taken from what the trace says of all groups."""

    def __init__(self, facts: Facts) -> None:
        self._known = {one.name: one for one in configured_groups(facts.trace.meta.distributed)}
        self._world = facts.trace.meta.world_size
        self._alone = facts.trace.meta.distributed.get("pg_count") == 1
        self.found: list[GroupPart] = []
        self._places: dict[GroupPart, int] = {}

    def place(self, row: _Row) -> int:
        """The place of a row's group in `found`."""
        group = self._unnamed() if row.message is None or row.message.group is None else self._named(row.message)
        place = self._places.setdefault(group, len(self.found))
        if place == len(self.found):
            self.found.append(group)
        return place

    @property
    def stated(self) -> tuple[GroupPart, ...]:
        """What the trace says of all groups, in the order in which they were made, where it does not say which one a row is of."""
        return tuple(self._known.values()) if GroupPart(name=None, size=None) in self._places else ()

    def _unnamed(self) -> GroupPart:
        # With one group alone there is no other that it could be, and of two ranks there is but one. In those of one rank, as of a
        # mesh with a dimension of one, nobody waits.
        several = [one for one in self._known.values() if len(one.ranks) != 1] or list(self._known.values())
        if len(several) == 1:
            return several[0]
        # A program's first group, which is its only one, has all ranks; of two ranks no group with a collective has fewer.
        if self._world and not self._known and (self._world == _PAIR or self._alone) and self._world <= MOST_RANKS:
            return GroupPart(name=None, ranks=tuple(range(self._world)), size=self._world)
        return GroupPart(name=None, size=None)

    def _named(self, message: Message) -> GroupPart:
        known = self._known.get(message.group)
        ranks = message.ranks or (known.ranks if known else ())
        size = message.size or (known.size if known else None) or (len(ranks) or None)
        description = message.description or (known.description if known else None)
        return GroupPart(name=message.group, description=description, ranks=ranks, size=size)
