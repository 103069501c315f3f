"""Which rank a message of a host without a device goes to, or comes from, where torch states no message (gloo).

In a group of two it is the other one. Else the call says it, `c10d::send(tensors, group, rank, tag)`, where shapes were recorded:
the place in the group, which is a rank where the program has one group, and else in none that can be told.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np
import pandas as pd

from analyzer.facts import Facts
from analyzer.ranks.configured import configured_groups
from analyzer.ranks.names import PAIRWISE, kind_of, rank_in
from analyzer.ranks.process_group import GroupPart
from analyzer.ranks.summary_part import MOST_RANKS
from analyzer.spans.labels import matching, texts
from analyzer.spans.open_spans import OpenSpans
from traces.patterns import Pattern

# Not `recv_any_source_`, which names nobody.
_CALL = Pattern(r"c10d::(?:send|recv_)$")
# Where the call states the rank: behind the tensors and the group (torch/csrc/distributed/c10d/Ops.cpp).
_PLACE = 2
_PAIR = 2


def own_rank(facts: Facts) -> int | None:
    """The rank that a trace states, else that its file's name does."""
    stated = facts.trace.meta.rank
    return rank_in(facts.trace.meta.name) if stated is None else stated


def other_of_two(kind: str, group: GroupPart, rank: int | None) -> int | None:
    """The other rank of a message in a group of two; None in any other, or for what is no message between two."""
    if kind not in PAIRWISE or len(group.ranks) != _PAIR or rank not in group.ranks:
        return None
    return next((one for one in group.ranks if one != rank), None)


def stated_places(facts: Facts, ranges: pd.DataFrame) -> list[int | None]:
    """The place in its group that the call around each range names; None where it does not say.

    Args:
        facts: The measurements.
        ranges: Ranges of messages, with thread, start_ns and name.
    """
    calls = facts.trace.collectives
    calls = calls[matching(calls["name"], _CALL.match)]
    if not len(calls):
        return [None] * len(ranges)
    columns = ("thread", "start_ns", "end_ns")
    around = OpenSpans(*(calls[name].to_numpy(np.int64) for name in columns))
    row = around.at(ranges["thread"].to_numpy(np.int64), ranges["start_ns"].to_numpy(np.int64))
    said = [*map(_place, texts(calls["concrete_inputs"]).tolist()), None]
    kinds = [*map(kind_of, texts(calls["name"]).tolist()), ""]
    names: Sequence[str] = texts(ranges["name"]).tolist()
    return [
        said[call] if kinds[call] == kind_of(name) else None for call, name in zip(row.tolist(), names, strict=True)
    ]


def places_are_ranks(facts: Facts) -> bool:
    """Whether a place in a group is a rank: where the program has one group."""
    distributed = facts.trace.meta.distributed
    return bool(distributed.get("pg_count", len(configured_groups(distributed))) == 1)


def _place(inputs: object) -> int | None:
    if not isinstance(inputs, str):
        return None
    try:
        values = msgspec.json.decode(inputs)
    except msgspec.DecodeError:
        return None
    text = values[_PLACE] if isinstance(values, list) and len(values) > _PLACE else None
    place = int(text) if isinstance(text, str) and text.isdecimal() and len(text) < len(str(MOST_RANKS)) + 1 else None
    return place if place is not None and place < MOST_RANKS else None
