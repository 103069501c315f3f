"""Which process groups the exposed time is in, as the kernels of collectives state it (NCCL, since torch 2.2)."""

from __future__ import annotations

import msgspec
import numpy as np
import pandas as pd

from analyzer.ranks.configured import configured_groups
from analyzer.ranks.document import GroupKind
from analyzer.ranks.group_kinds import kind_of_group, shares_sequences
from analyzer.ranks.process_group import GroupPart
from analyzer.spans.intervals import IntervalSet
from analyzer.spans.labels import codes_of, distinct_texts
from traces.messages import Message, parse_message
from traces.trace import Trace


class _Stated(msgspec.Struct, frozen=True):
    """A process group as messages name it."""

    name: str | None
    size: int | None
    description: str | None


class OfGroup(msgspec.Struct, frozen=True):
    """The collectives of one process group that nothing hides.

    Args:
        words: What the program says that the group is for, else its name.
        size: How many ranks are in it; None where that is not stated.
        kind: What it is for by these words.
        of_sequences: Whether they say that its ranks share sequences.
        exposed: When nothing else runs beside them.
    """

    words: str
    size: int | None
    kind: GroupKind
    of_sequences: bool
    exposed: IntervalSet


def of_groups(trace: Trace, frame: pd.DataFrame, exposed: IntervalSet) -> tuple[OfGroup, ...]:
    """Each group with exposed time, that with most of it first; empty where no kernel states one.

    Args:
        trace: The trace.
        frame: Kernels of the used steps, with their row in the trace, collective, start_ns and end_ns.
        exposed: Time that communication owns.
    """
    stated = trace.kernels["message"]
    said = [*map(parse_message, distinct_texts(stated)), None]
    known = {one.name: one for one in configured_groups(trace.meta.distributed)}
    keys = [None if one is None or one.group is None else _key(one, known.get(one.group)) for one in said]
    place = {key: number for number, key in enumerate(dict.fromkeys(key for key in keys if key is not None))}
    number = np.array([-1 if key is None else place[key] for key in keys], dtype=np.int64)
    number = number[codes_of(stated)[frame["row"].to_numpy()]]
    number = np.where(frame["collective"].to_numpy(dtype=bool), number, -1)
    found = [
        OfGroup(
            words=key.description or str(key.name),
            size=key.size,
            kind=kind_of_group(key.description),
            of_sequences=shares_sequences(key.description),
            exposed=IntervalSet.of_rows(frame, number == one) & exposed,
        )
        for key, one in place.items()
    ]
    return tuple(sorted((one for one in found if one.exposed), key=lambda one: -one.exposed.total_ns))


def _key(message: Message, known: GroupPart | None) -> _Stated:
    size = message.size or len(message.ranks) or (None if known is None else known.size or len(known.ranks) or None)
    return _Stated(message.group, size, message.description or (None if known is None else known.description))


def between_layers_by_groups(groups: tuple[OfGroup, ...], exposed: IntervalSet) -> bool | None:
    """Whether more of the exposed time is in groups of tensor parallelism than in those of any other kind.

    None where the groups' words do not tell of most of it what they are for.
    """
    kinds: dict[str, int] = {}
    for one in groups:
        if one.kind != "other":
            kinds[one.kind] = kinds.get(one.kind, 0) + one.exposed.total_ns
    if 2 * sum(kinds.values()) < exposed.total_ns or not kinds:
        return None
    return max(kinds, key=lambda kind: kinds[kind]) == "tp"


def mostly_of_sequences(groups: tuple[OfGroup, ...]) -> bool:
    """Whether most of the exposed time is in groups that share sequences."""
    shared = sum(one.exposed.total_ns for one in groups if one.of_sequences)
    return 2 * shared > sum(one.exposed.total_ns for one in groups)
