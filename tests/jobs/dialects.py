"""Summaries of a job as older, other and poorer recorders leave them: less metadata, fewer ranks, other numbers of steps."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from analyzer.ranks.process_group import GroupPart
from analyzer.ranks.summary import CollectiveColumns, RankSummary

Change = Callable[[RankSummary], RankSummary]


def _groups(change: Callable[[GroupPart], GroupPart]) -> Change:
    def changed(one: RankSummary) -> RankSummary:
        return msgspec.structs.replace(one, groups=tuple(change(group) for group in one.groups))

    return changed


def _columns(**values: object) -> Change:
    def changed(one: RankSummary) -> RankSummary:
        rows = len(one.collectives.start_ns)
        columns: CollectiveColumns = msgspec.structs.replace(
            one.collectives, **{name: [value] * rows for name, value in values.items()}
        )
        return msgspec.structs.replace(one, collectives=columns)

    return changed


def chained(*changes: Change) -> Change:
    def changed(one: RankSummary) -> RankSummary:
        for change in changes:
            one = change(one)
        return one

    return changed


_NO_SEQUENCE = _columns(sequence=None)


def _one_kind(name: str) -> Change:
    """Every kernel of a collective has one name, as RCCL's `ncclDevKernel_Generic` or NCCL's `SendRecv`."""

    def changed(one: RankSummary) -> RankSummary:
        return _columns(kind=0, peer=None)(msgspec.structs.replace(one, kinds=(name,)))

    return changed


# What a recorder leaves of each rank.
DIALECTS: dict[str, Change] = {
    "whole": lambda one: one,
    # torch 2.2 to 2.6.
    "no sequence": _NO_SEQUENCE,
    # More than some 30 members: torch cuts the list.
    "no members": _groups(lambda group: msgspec.structs.replace(group, ranks=())),
    "no members, no sequence": chained(_NO_SEQUENCE, _groups(lambda group: msgspec.structs.replace(group, ranks=()))),
    # `split_group` counts on each rank for itself: groups of different ranks share a name.
    "one name, no members": _groups(lambda group: msgspec.structs.replace(group, name="1", ranks=())),
    "one name, no members, no sequence": chained(
        _NO_SEQUENCE, _groups(lambda group: msgspec.structs.replace(group, name="1", ranks=()))
    ),
    # torch before 2.2, PyNccl, CUDA graphs, gloo: names of kernels alone.
    "names only": chained(
        _columns(sequence=None, peer=None, sent_bytes=None, received_bytes=None, group=0),
        lambda one: msgspec.structs.replace(one, groups=(GroupPart(name=None),)),
    ),
    # RCCL, and what is packed into one kernel.
    "one kernel for all": chained(
        _columns(sequence=None, sent_bytes=None, received_bytes=None, group=0),
        lambda one: msgspec.structs.replace(one, groups=(GroupPart(name=None),)),
        _one_kind("ncclDevKernel_Generic_4"),
    ),
    # Members are a set: some list themselves first.
    "members in any order": lambda one: _groups(
        lambda group: msgspec.structs.replace(
            group, ranks=tuple(sorted(group.ranks, key=lambda rank: rank != one.rank))
        )
    )(one),
    "no hosts": lambda one: msgspec.structs.replace(one, host=None),
    "no shapes": lambda one: msgspec.structs.replace(
        one, kernels=tuple(msgspec.structs.replace(row, shape="") for row in one.kernels)
    ),
}


def with_steps_from(one: RankSummary, first: int) -> RankSummary:
    """The same rank, its steps counted from another number."""
    steps = tuple(msgspec.structs.replace(step, number=step.number + first) for step in one.steps)
    return msgspec.structs.replace(one, steps=steps)


def in_dialect(summaries: Sequence[RankSummary], dialect: str) -> list[RankSummary]:
    """Each rank as a recorder leaves it."""
    return [DIALECTS[dialect](one) for one in summaries]
