"""Summaries of ranks without names of people, machines and folders: they are made to travel."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from analyzer.ranks.process_group import GroupPart
from analyzer.ranks.summary import CollectiveColumns, RankSummary
from analyzer.report.redact import Project, cleaner, mapped


def redact_summary(summary: RankSummary, project: Project) -> RankSummary:
    """The same summary with every string made fit to be shown to anybody.

    A name of a group that would have to change is left out: two groups of one name would be taken for each other.

    Args:
        summary: As it was made from a trace, names not cut yet: half a secret is not recognised.
        project: Where the user's own code lies and what must not be told of this machine.
    """
    text = cleaner(project)
    # What holds numbers by the thousand, under names of our own.
    told = msgspec.structs.replace(summary, steps=(), collectives=CollectiveColumns(), tail_ns={})
    shown = mapped(told, text, text)
    return msgspec.structs.replace(
        shown,
        groups=_unnamed(summary.groups, shown.groups),
        stated_groups=_unnamed(summary.stated_groups, shown.stated_groups),
        steps=summary.steps,
        collectives=summary.collectives,
        tail_ns=summary.tail_ns,
    )


def _unnamed(before: Sequence[GroupPart], after: Sequence[GroupPart]) -> tuple[GroupPart, ...]:
    return tuple(
        shown if told.name == shown.name else msgspec.structs.replace(shown, name=None)
        for told, shown in zip(before, after, strict=True)
    )
