"""Why no collective of one rank could be matched with another's: what the traces would have to say."""

from __future__ import annotations

import numpy as np

from analyzer.ranks.alignment.table import Table

# Of so much of what is not matched the reason has to hold.
_MOST_RATIO = 0.5


def why_unmatched(table: Table) -> str | None:
    """One sentence, or None where none of these reasons holds for most rows.

    Args:
        table: The rows, of which none could be matched.
    """
    rows = table.rows
    if not len(rows):
        return None
    if not _common_steps(table):
        return "The ranks recorded different steps: record the same ones on all of them."
    nobody = np.array([group.name is None and not group.ranks for group in table.groups], dtype=bool)[rows.group]
    pairwise = table.pairwise[rows.kind]
    if (pairwise & ~rows.paired).mean() > _MOST_RATIO:
        return (
            "No trace says which rank a message goes to or comes from. Gloo's do where shapes are recorded (record_shapes=True) "
            "and the program has one process group; NCCL's do since torch 2.2."
        )
    if (nobody & ~rows.numbered).mean() > _MOST_RATIO:
        return (
            "No trace says which process group a collective belongs to, and in one of all ranks these do not end together: the "
            "program has several. Gloo's never say it; NCCL's do since torch 2.2."
        )
    return None


def _common_steps(table: Table) -> set[int]:
    steps = [{step.number for step in one.steps} for one in table.summaries if one.steps]
    return set.intersection(*steps) if steps else set()
