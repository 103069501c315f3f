"""Which process group the messages of a rank are of, where they say the place in it that they go to and not which one it is.

A rank is taken to send in one group alone, as a stage of a pipeline does. Which one that is follows from the other ranks: who
sends so many messages to one must have somebody there who asks for them. Where more than one group agrees, nothing is told.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import msgspec

from analyzer.ranks.alignment.left_over import left_over
from analyzer.ranks.names import PAIRWISE
from analyzer.ranks.process_group import GroupPart
from analyzer.ranks.summary import RankSummary


class _Rank(msgspec.Struct, frozen=True):
    """A rank's messages that state a place.

    Args:
        rank: Its number.
        rows: Places of the messages in the summary's columns.
        places: Place in its group of the other rank of each.
        what: The number of the step of each, and whether it sends.
    """

    rank: int
    rows: tuple[int, ...]
    places: tuple[int, ...]
    what: tuple[tuple[int, bool], ...]


def with_groups_of_messages(summaries: Sequence[RankSummary]) -> list[RankSummary]:
    """The ranks with the other rank of each message, where there is one way alone; else as they are.

    Args:
        summaries: Ranks that are known and distinct, cut to the steps that all have.
    """
    ranks = [_rank(one) for one in summaries]
    if len(summaries) < 2 or not any(one.rows for one in ranks):
        return list(summaries)
    choices = [_choices(summary, one) for summary, one in zip(summaries, ranks, strict=True)]
    left = left_over(choices, _Answered(ranks))
    peers = [{_peers(one, group) for group in mine} for one, mine in zip(ranks, left, strict=True)]
    if any(len(mine) != 1 for mine in peers):
        return list(summaries)
    return [
        _with_peers(summary, one, mine[0]) if one.rows and mine[0] is not None else summary
        for summary, one, mine in zip(summaries, ranks, left, strict=True)
    ]


def _rank(one: RankSummary) -> _Rank:
    columns = one.collectives
    stated = columns.peer_place or []
    rows = tuple(
        row
        for row, place in enumerate(stated)
        if place is not None and columns.peer[row] is None and one.kinds[columns.kind[row]] in PAIRWISE
    )
    return _Rank(
        rank=-1 if one.rank is None else one.rank,
        rows=rows,
        places=tuple(place for row in rows if (place := stated[row]) is not None),
        what=tuple((one.steps[columns.step[row]].number, one.kinds[columns.kind[row]] == "send") for row in rows),
    )


def _choices(summary: RankSummary, one: _Rank) -> list[GroupPart | None]:
    """Groups in which the rank is and in which no message would go to itself; None alone where it has no messages."""
    if not one.rows:
        return [None]
    highest = max(one.places)
    return [
        part
        for part in summary.stated_groups
        if one.rank in part.ranks and highest < len(part.ranks) and part.ranks.index(one.rank) not in one.places
    ]


def _peers(one: _Rank, group: GroupPart | None) -> tuple[int, ...]:
    return () if group is None else tuple(group.ranks[place] for place in one.places)


# The group, and how many messages of each step are sent and received.
_Seen = tuple[tuple[str | None, tuple[int, ...]], tuple[tuple[tuple[int, bool], int], ...]] | None


class _Answered:
    """So many messages as one rank sends to another one in a step, that one asks for, in the same group."""

    def __init__(self, ranks: Sequence[_Rank]) -> None:
        self._ranks = ranks

    def seen_by(self, one: int, choice: GroupPart | None, other: int) -> _Seen:
        """The messages that go to the other rank and come from it; None where there are none."""
        mine, its = self._ranks[one], self._ranks[other].rank
        if choice is None or its not in choice.ranks:
            return None
        place = choice.ranks.index(its)
        many = Counter(what for what, at in zip(mine.what, mine.places, strict=True) if at == place)
        return (choice.told_by, tuple(sorted(many.items()))) if many else None

    def agree(self, one: int, mine: Any, other: int, its: Any) -> bool:
        """Whether what goes to one of them comes from the other."""
        if mine is None or its is None:
            return mine is its
        (group, many), (its_group, its_many) = mine, its
        return group == its_group and sorted(((step, not sends), count) for (step, sends), count in many) == list(
            its_many
        )


def _with_peers(summary: RankSummary, one: _Rank, group: GroupPart) -> RankSummary:
    columns = summary.collectives
    groups = tuple(dict.fromkeys((*summary.groups, group)))
    peer, place = list(columns.peer), list(columns.group)
    for row, other in zip(one.rows, _peers(one, group), strict=True):
        peer[row] = other
        place[row] = groups.index(group)
    columns = msgspec.structs.replace(columns, peer=peer, group=place)
    return msgspec.structs.replace(summary, groups=groups, collectives=columns)
