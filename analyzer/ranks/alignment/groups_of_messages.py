"""Which process group the messages of a rank are of, where nothing says it, and they say at most the place in it that they go to.

A rank is taken to send in one group alone, as a stage of a pipeline does. Which one that is follows from the other ranks: who
sends so many messages to one must have somebody there who asks for them. Where all of them may be of groups that the program
calls a pipeline, they are: the group of all ranks may agree as well. Where more than one group agrees, nothing is told. Messages
without a place are told where the rank is in one such group, of two ranks.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import msgspec

from analyzer.ranks.alignment.left_over import left_over
from analyzer.ranks.group_kinds import kind_of_group, shares_sequences
from analyzer.ranks.names import PAIRWISE
from analyzer.ranks.process_group import GroupPart
from analyzer.ranks.summary import RankSummary


class _Rank(msgspec.Struct, frozen=True):
    """A rank's messages of which the group is to be told.

    Args:
        rank: Its number.
        rows: Places of the messages in the summary's columns.
        places: Place in its group of the other rank of each.
        what: The number of the step of each, and whether it sends.
        pair: The two stages that they can only be of, where none of them states a place.
    """

    rank: int
    rows: tuple[int, ...]
    places: tuple[int, ...]
    what: tuple[tuple[int, bool], ...]
    pair: GroupPart | None = None


_PAIR = 2


def with_groups_of_messages(summaries: Sequence[RankSummary]) -> list[RankSummary]:
    """The ranks with the other rank of each message, where there is one way alone; else as they are.

    Args:
        summaries: Ranks that are known and distinct, cut to the steps that all have.
    """
    ranks = [_rank(one) for one in summaries]
    if len(summaries) < 2 or not any(one.rows for one in ranks):
        return list(summaries)
    choices = [_choices(summary, one) for summary, one in zip(summaries, ranks, strict=True)]
    answered = _Answered(ranks)
    for some in ([[*filter(_may_be_of_stages, mine)] for mine in choices], choices):
        left = left_over(some, answered)
        peers = [{_peers(one, group) for group in mine} for one, mine in zip(ranks, left, strict=True)]
        if all(len(mine) == 1 for mine in peers):
            break
    else:
        return list(summaries)
    return [
        _with_peers(summary, one, mine[0]) if one.rows and mine[0] is not None else summary
        for summary, one, mine in zip(summaries, ranks, left, strict=True)
    ]


def _rank(one: RankSummary) -> _Rank:
    columns = one.collectives
    messages = [
        row for row, kind in enumerate(columns.kind) if columns.peer[row] is None and one.kinds[kind] in PAIRWISE
    ]
    pair = _two_stages(one) if columns.peer_place is None else None
    other = None if pair is None else next(place for place, rank in enumerate(pair.ranks) if rank != one.rank)
    stated = columns.peer_place or [other] * len(columns.peer)
    rows = tuple(row for row in messages if stated[row] is not None)
    return _Rank(
        rank=-1 if one.rank is None else one.rank,
        rows=rows,
        places=tuple(place for row in rows if (place := stated[row]) is not None),
        what=tuple((one.steps[columns.step[row]].number, one.kinds[columns.kind[row]] == "send") for row in rows),
        pair=pair,
    )


def _two_stages(one: RankSummary) -> GroupPart | None:
    """The group of two that the program calls a pipeline; None with several, and where another passes on parts of sequences."""
    known = [part for part in one.stated_groups if len(part.ranks) > 1 and one.rank in part.ranks]
    stages = [part for part in known if kind_of_group(part.description) == "pp"]
    rings = any(shares_sequences(part.description) for part in known)
    return stages[0] if len(stages) == 1 and len(stages[0].ranks) == _PAIR and not rings else None


def _choices(summary: RankSummary, one: _Rank) -> list[GroupPart | None]:
    """Groups in which the rank is and in which no message would go to itself; None alone where it has no messages."""
    if not one.rows:
        return [None]
    if one.pair is not None:
        return [one.pair]
    highest = max(one.places)
    return [
        part
        for part in summary.stated_groups
        if one.rank in part.ranks and highest < len(part.ranks) and part.ranks.index(one.rank) not in one.places
    ]


def _may_be_of_stages(group: GroupPart | None) -> bool:
    """Whether the program calls a group one of a pipeline, or there is none."""
    return group is None or kind_of_group(group.description) == "pp"


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
