"""Which process group each thread of gloo works for, where no collective says its group.

Each group of gloo has threads of its own, which its constructor starts and which take its collectives in turn: threads of a group
that was made later have higher numbers. Which of the groups that a rank is in they work for follows from the other ranks: members
of a group do the same in the same order, and none can leave a collective before the last one has come. What does not agree with
that is ruled out. Part of a group always agrees where the whole of it does, and the whole may by chance: of two groups of which one
is within the other the larger counts if its members leave as closely together as those of the smaller, though they come apart, and
the smaller if those leave much more closely together. Where still more than one way is left nothing is told.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
import numpy as np

from analyzer.ranks.alignment.left_over import left_over
from analyzer.ranks.names import PAIRWISE, SYMMETRIC
from analyzer.ranks.process_group import GroupPart
from analyzer.ranks.summary import RankSummary
from analyzer.spans.arrays import BoolArray, Int64Array

# Threads of one group of gloo, unless a program asks for others: `Options::threads` of torch's ProcessGroupGloo.
_THREADS = 2
# Of so many collectives each thread has taken one.
_IN_TURN = 2 * _THREADS
# How much further apart than members of a part those of the whole group leave, by chance; and where it is no chance.
_BY_CHANCE_RATIO = 1.5
_APART_RATIO = 3

# The group of each thread, as places in `RankSummary.stated_groups`.
_Choice = tuple[int, ...]
# Some of a rank's threads, as places in `_Rank.threads`.
_Threads = tuple[int, ...]


class _Rank(msgspec.Struct, frozen=True):
    """A rank's collectives of groups that nobody names, on the clock of its host.

    Args:
        rank: Its number.
        groups: The groups that it is in.
        threads: Of those collectives, in the order in which they were started.
        rows: Places of the collectives in the summary's columns.
        thread: Place of each in `threads`.
        what: Numbers of the step, kind and size of each, equal for what may be one collective; shape (rows, 3).
        start_ns: When each begins.
        end_ns: When it ends.
        together: Which of them nobody leaves before all have come.
    """

    rank: int
    groups: tuple[GroupPart, ...]
    threads: tuple[int, ...]
    rows: Int64Array
    thread: Int64Array
    what: Int64Array
    start_ns: Int64Array
    end_ns: Int64Array
    together: BoolArray

    def of(self, choice: _Choice, group: int) -> BoolArray:
        """Which of the collectives are of a group if the threads work for the chosen ones."""
        return np.asarray(np.array(choice)[self.thread] == group, dtype=bool)


def with_groups_of_threads(summaries: Sequence[RankSummary]) -> list[RankSummary]:
    """The ranks with the groups of their threads, where there is one way alone; else as they are.

    Args:
        summaries: Ranks that are known and distinct, cut to the steps that all have.
    """
    kinds: dict[str, int] = {}
    ranks = [_rank(one, kinds) for one in summaries]
    # Whether one came before another left is only known on one clock.
    one_clock = len({one.host for one in summaries}) == 1 and summaries[0].host is not None if summaries else False
    if len(summaries) < 2 or not one_clock or any(one is None for one in ranks):
        return list(summaries)
    known = [one for one in ranks if one is not None]
    told = _told(known)
    if told is None:
        return list(summaries)
    return [_with_groups(summary, rank, groups) for summary, rank, groups in zip(summaries, known, told, strict=True)]


def _rank(one: RankSummary, kinds: dict[str, int]) -> _Rank | None:
    """What is to be told apart; None where the rank states no several groups, or nothing of unnamed ones."""
    columns = one.collectives
    groups = tuple(part for part in one.stated_groups if len(part.ranks) > 1 and one.rank in part.ranks)
    unnamed = [place for place, part in enumerate(one.groups) if part.name is None and not part.ranks]
    message = [place for place, kind in enumerate(one.kinds) if kind in PAIRWISE]
    mine = np.isin(np.array(columns.group, dtype=np.int64), unnamed)
    mine &= ~np.isin(np.array(columns.kind, dtype=np.int64), message)
    rows = np.flatnonzero(mine)
    if one.rank is None or len(groups) < 2 or not len(rows) or one.device_kind != "cpu":
        return None
    number = [kinds.setdefault(kind, len(kinds)) for kind in one.kinds]
    sizes = np.array([-1 if size is None else size for size in columns.sent_bytes], dtype=np.int64)[rows]
    kind = np.array(columns.kind, dtype=np.int64)[rows]
    uneven = np.array([name == "all_to_all" for name in one.kinds])[kind]
    steps = np.array([step.number for step in one.steps], dtype=np.int64)[np.array(columns.step, dtype=np.int64)[rows]]
    threads, thread = np.unique(np.array(columns.stream, dtype=np.int64)[rows], return_inverse=True)
    start = np.array(columns.start_ns, dtype=np.int64)[rows] + one.origin_ns
    return _Rank(
        rank=one.rank,
        groups=groups,
        threads=tuple(threads.tolist()),
        rows=rows,
        thread=thread.astype(np.int64),
        what=np.stack([steps, np.array(number, dtype=np.int64)[kind], np.where(uneven, -1, sizes)], axis=1),
        start_ns=start,
        end_ns=start + np.array(columns.dur_ns, dtype=np.int64)[rows],
        together=np.array([name in SYMMETRIC for name in one.kinds], dtype=bool)[kind],
    )


def _choices(one: _Rank) -> Iterator[_Choice]:
    """Every way to give threads to groups in the order in which both were made."""
    many = np.bincount(one.thread, minlength=len(one.threads)).tolist()

    def from_group(group: int, at: int) -> Iterator[_Choice]:
        if at == len(many):
            yield ()
        elif group < len(one.groups):
            for threads in range(min(_THREADS, len(many) - at) + 1):
                if threads != 1 or many[at] < _IN_TURN:
                    for rest in from_group(group + 1, at + threads):
                        yield (*[group] * threads, *rest)

    yield from from_group(0, 0)


class _Alike:
    """Members of a group have the same collectives in it, and none leaves one before the last has come."""

    def __init__(self, ranks: Sequence[_Rank]) -> None:
        self._ranks = ranks
        self._known: dict[tuple[int, _Threads, int, _Threads], bool] = {}

    def seen_by(self, one: int, choice: _Choice, other: int) -> tuple[tuple[int, _Threads], ...]:
        """The threads that work for each group which the other rank is in as well."""
        mine, its = self._ranks[one], self._ranks[other]
        return tuple(
            (group, tuple(place for place, chosen in enumerate(choice) if chosen == group))
            for group, part in enumerate(mine.groups)
            if its.rank in part.ranks
        )

    def agree(self, one: int, mine: Any, other: int, its: Any) -> bool:
        """Whether all groups that both are in can be made up of these threads."""
        groups = {self._ranks[other].groups[group].told_by: threads for group, threads in its}
        return all(
            self._one_group(one, threads, other, groups.get(self._ranks[one].groups[group].told_by, ()))
            for group, threads in mine
        )

    def _one_group(self, one: int, threads: _Threads, other: int, its_threads: _Threads) -> bool:
        key = (one, threads, other, its_threads)
        if key not in self._known:
            self._known[key] = self._can_be_one(self._ranks[one], threads, self._ranks[other], its_threads)
        return self._known[key]

    @staticmethod
    def _can_be_one(one: _Rank, threads: _Threads, other: _Rank, its_threads: _Threads) -> bool:
        mine, its = np.isin(one.thread, threads), np.isin(other.thread, its_threads)
        if not np.array_equal(one.what[mine], other.what[its]):
            return False
        begun = np.maximum(one.start_ns[mine], other.start_ns[its])
        left = np.minimum(one.end_ns[mine], other.end_ns[its])
        return not (one.together[mine] & (begun > left)).any()


def _told(ranks: Sequence[_Rank]) -> list[list[GroupPart]] | None:
    """The group of each thread of each rank; None where more than one way is left, or none."""
    alike = _Alike(ranks)
    left = left_over([list(_choices(one)) for one in ranks], alike)
    largest, smallest = (
        [_of_all(one, choices, larger=larger) for one, choices in zip(ranks, left, strict=True)]
        for larger in (True, False)
    )
    wide, narrow = ([one for one in every if one is not None] for every in (largest, smallest))
    if len(wide) < len(ranks) or len(narrow) < len(ranks):
        return None
    told = wide if wide == narrow else _by_leaving(ranks, wide, narrow)
    if told is None or not all(left_over([[one] for one in told], alike)):
        return None
    return [_parts(one, choices, choice) for one, choices, choice in zip(ranks, left, told, strict=True)]


def _of_all(one: _Rank, choices: Sequence[_Choice], *, larger: bool) -> _Choice | None:
    """The choice in which each thread works for the largest, or smallest, group; None where not all are within one another."""
    members = [[set(one.groups[group].ranks) for group in choice] for choice in choices]
    for choice, mine in zip(choices, members, strict=True):
        if all((a >= b) if larger else (a <= b) for its in members for a, b in zip(mine, its, strict=True)):
            return choice
    return None


def _by_leaving(ranks: Sequence[_Rank], wide: list[_Choice], narrow: list[_Choice]) -> list[_Choice] | None:
    """The groups whose members leave together; None where that cannot be told."""
    inside, outside, come = list[float](), list[float](), list[float]()
    for one, choice, its in zip(ranks, wide, narrow, strict=True):
        for group, part in set(zip(choice, its, strict=True)):
            if one.groups[group].ranks == one.groups[part].ranks:
                continue
            for rank, (begun, ended) in _apart(one, choice, group, ranks, wide).items():
                (inside if rank in one.groups[part].ranks else outside).append(ended)
                come.append(begun)
    if not outside:
        return wide
    near, far = float(np.mean(inside)) if inside else 0.0, float(np.mean(outside))
    if far > _APART_RATIO * near:
        return narrow
    # Who comes at the same time leaves at the same time, in one group or in two.
    return wide if far <= _BY_CHANCE_RATIO * near and float(np.mean(come)) > _APART_RATIO * far else None


def _apart(
    one: _Rank, choice: _Choice, group: int, ranks: Sequence[_Rank], told: Sequence[_Choice]
) -> dict[int, tuple[float, float]]:
    """By rank, how far from this one each other member of a group comes to its collectives and leaves them, in the median."""
    key, mine = one.groups[group].told_by, one.of(choice, group)
    found = {}
    for other, its in zip(ranks, told, strict=True):
        place = next((at for at, part in enumerate(other.groups) if part.told_by == key), None)
        if other.rank != one.rank and place is not None:
            theirs = other.of(its, place)
            begun = np.median(np.abs(one.start_ns[mine] - other.start_ns[theirs]))
            found[other.rank] = float(begun), float(np.median(np.abs(one.end_ns[mine] - other.end_ns[theirs])))
    return found


def _parts(one: _Rank, choices: Sequence[_Choice], choice: _Choice) -> list[GroupPart]:
    """The group of each thread; without a name where another one has the same ranks."""
    found = []
    for thread, group in enumerate(choice):
        mine = one.groups[group]
        same = {its[thread] for its in choices if one.groups[its[thread]].ranks == mine.ranks}
        found.append(mine if len(same) == 1 else GroupPart(name=None, ranks=mine.ranks, size=mine.size))
    return found


def _with_groups(summary: RankSummary, one: _Rank, groups: Sequence[GroupPart]) -> RankSummary:
    every = dict.fromkeys((*summary.groups, *groups))
    place = {group: number for number, group in enumerate(every)}
    column = np.array(summary.collectives.group, dtype=np.int64)
    column[one.rows] = np.array([place[group] for group in groups], dtype=np.int64)[one.thread]
    columns = msgspec.structs.replace(summary.collectives, group=column.tolist())
    return msgspec.structs.replace(summary, groups=tuple(every), collectives=columns)
