"""Why ranks cannot be held against each other: what the traces would have to say."""

from __future__ import annotations

import numpy as np

from analyzer.ranks.alignment.table import Table

# Of so much of what is not matched the reason has to hold.
_MOST_RATIO = 0.5


def why_unmatched(table: Table) -> str | None:
    """One sentence, or None where none of these reasons holds for most rows.

    Args:
        table: The rows, of which none could be matched, or of which no step is on all ranks.
    """
    rows = table.rows
    if not len(rows):
        return None
    if not share_steps(table):
        return "The ranks recorded different steps: record the same ones on all of them."
    nobody = np.array([group.name is None and not group.ranks for group in table.groups], dtype=bool)[rows.group]
    pairwise = table.pairwise[rows.kind]
    if (pairwise & ~rows.paired).mean() > _MOST_RATIO:
        return (
            "No trace says which rank a message goes to or comes from. Gloo's do where shapes are recorded (record_shapes=True) "
            "and the program has one process group, or what all ranks send fits one alone; NCCL's do since torch 2.2."
        )
    if (nobody & ~rows.numbered).mean() > _MOST_RATIO:
        return (
            "No trace says which process group a collective belongs to, and in one of all ranks these do not end together: the "
            "program has several. Gloo's never say it, and here its threads and the times of all ranks do not tell it; NCCL's do "
            "since torch 2.2."
        )
    return None


def share_steps(table: Table) -> bool:
    """Whether there is a step that every rank recorded, of those that recorded any."""
    steps = [{step.number for step in one.steps} for one in table.summaries if one.steps]
    return not steps or bool(set.intersection(*steps))
