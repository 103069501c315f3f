"""Steps of different ranks, brought together: one number for one step, and only those that every rank recorded."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TypeVar

import msgspec

from analyzer.ranks.summary import OtherLoopPart, RankSummary, StepPart

_Step = TypeVar("_Step", StepPart, OtherLoopPart)
_Key = tuple[str | None, tuple[int, ...], str, int]
# So much of what two ranks share has to say the same shift, or the steps stay as they are numbered.
_AGREED_RATIO = 0.9


def same_steps(aligned: Sequence[RankSummary]) -> list[RankSummary]:
    """The ranks cut to the steps that all of them have. Ranks that share no step stay whole: nothing can be matched then.

    Args:
        aligned: Ranks whose steps are counted alike.
    """
    with_steps = [{step.number for step in one.steps} for one in aligned if one.steps]
    common = set.intersection(*with_steps) if with_steps else set()
    if not common:
        return list(aligned)
    return [one if common >= {step.number for step in one.steps} else _only(one, common) for one in aligned]


def counted_alike(summaries: Sequence[RankSummary]) -> list[RankSummary]:
    """The ranks with one number for one step.

    A collective's number within its group says which steps of two ranks are one, whatever each calls it.

    Args:
        summaries: Ranks that are known and distinct.
    """
    known: dict[_Key, int] = {}
    made = []
    for one in summaries:
        mine = dict(_numbered(one))
        shifts = Counter(known[key] - number for key, number in mine.items() if key in known)
        shift, times = shifts.most_common(1)[0] if shifts else (0, 0)
        if shift and times >= _AGREED_RATIO * sum(shifts.values()):
            one = msgspec.structs.replace(
                one, steps=_shifted(one.steps, shift), other_loops=_shifted(one.other_loops, shift)
            )
        else:
            shift = 0
        for key, number in mine.items():
            known.setdefault(key, number + shift)
        made.append(one)
    return made


def _shifted(steps: tuple[_Step, ...], shift: int) -> tuple[_Step, ...]:
    return tuple(msgspec.structs.replace(step, number=step.number + shift) for step in steps)


def _numbered(one: RankSummary) -> Iterator[tuple[_Key, int]]:
    """The first numbered collective of each group whose members are stated in each step, and the step."""
    columns = one.collectives
    seen = set()
    for step, group, kind, sequence, peer in zip(
        columns.step, columns.group, columns.kind, columns.sequence, columns.peer, strict=True
    ):
        part = one.groups[group]
        if sequence is None or peer is not None or not part.ranks or (step, group) in seen:
            continue
        seen.add((step, group))
        yield (*part.told_by, one.kinds[kind], sequence), one.steps[step].number


def _only(one: RankSummary, numbers: set[int]) -> RankSummary:
    """The rank with some of its steps alone, and the collectives in them."""
    places = [place for place, step in enumerate(one.steps) if step.number in numbers]
    new = {old: place for place, old in enumerate(places)}
    columns = one.collectives
    rows = [row for row, step in enumerate(columns.step) if step in new]
    lists = {
        name: [getattr(columns, name)[row] for row in rows]
        for name in columns.__struct_fields__
        if isinstance(getattr(columns, name), list)
    }
    lists["step"] = [new[step] for step in lists["step"]]
    at = {old: row for row, old in enumerate(rows)}
    cut = msgspec.structs.replace(
        columns,
        **lists,
        own_ns={cause: [values[row] for row in rows] for cause, values in columns.own_ns.items()},
        splits={at[row]: values for row, values in columns.splits.items() if row in at},
    )
    last = bool(places) and places[-1] == len(one.steps) - 1
    return msgspec.structs.replace(
        one,
        steps=tuple(one.steps[place] for place in places),
        collectives=cut,
        tail_ns=one.tail_ns if last else {},
    )
