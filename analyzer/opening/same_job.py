"""Whether traces are ranks of one job, from the first block of each: reading them whole would take too long to ask."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

# Profilers write it before the events.
_STATED = re.compile(rb'"distributedInfo"\s*:\s*\{')
_RANK = re.compile(rb'"rank"\s*:\s*(\d+)')
_SIZE = re.compile(rb'"world_size"\s*:\s*(\d+)')
_LOOKED_AT = 4_096


def same_job(paths: Sequence[Path]) -> bool:
    """Whether all state different ranks of one number of ranks; False where one does not say or cannot be read."""
    stated = []
    for path in paths:
        found = _rank(path)
        if found is None:
            return False
        stated.append(found)
    ranks, sizes = {rank for rank, _ in stated}, {size for _, size in stated}
    return len(ranks) == len(paths) > 1 and len(sizes) == 1


def _rank(path: Path) -> tuple[int, int] | None:
    """Rank and number of ranks."""
    from traces.errors import AdvisorError
    from traces.progress import silent
    from traces.reader.input.source import Source
    from traces.reader.mend.repairs import Repairs

    if not path.is_file():
        return None
    try:
        with Source(path, silent, Repairs(path.name)) as source:
            head = next(source.blocks(), b"")
    except AdvisorError:
        return None
    match = _STATED.search(head)
    if match is None:
        return None
    text = head[match.end() : match.end() + _LOOKED_AT]
    rank, size = _RANK.search(text), _SIZE.search(text)
    return (int(rank[1]), int(size[1])) if rank and size else None
