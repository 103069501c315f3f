"""Whether files are ranks of one job, from the first block of each: reading them whole would take too long to ask."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from analyzer.ranks.summary import SUMMARY_KIND
from traces.errors import AdvisorError
from traces.patterns import Pattern

# Profilers write it before the events, and a summary begins with it.
_STATED = Pattern(rb'"distributedInfo"\s*:\s*\{|"kind":"' + SUMMARY_KIND.encode() + b'"')
_RANK = Pattern(rb'"rank"\s*:\s*(\d+)')
_SIZE = Pattern(rb'"world_size"\s*:\s*(\d+)')
_LOOKED_AT = 4_096
# Of thousands of files each head takes a millisecond or two, and far longer where the disk is remote: nothing is shown meanwhile.
_ASKED = 64


def same_job(paths: Sequence[Path]) -> bool:
    """Whether there are two ranks or more, all of one number of ranks; one that states no rank is another trace.

    Files that cannot be read are no reason against it: of a job they are ranks that are named as unreadable. Of many files some
    are asked, spread over all of them.
    """
    stated = []
    for path in paths[:: len(paths) // _ASKED + 1]:
        try:
            found = _rank(path)
        except AdvisorError:
            continue
        if found is None:
            return False
        stated.append(found)
    ranks, sizes = {rank for rank, _ in stated}, {size for _, size in stated}
    return len(ranks) > 1 and len(sizes) == 1


def _rank(path: Path) -> tuple[int, int] | None:
    """Rank and number of ranks.

    Raises:
        AdvisorError: It cannot be read.
    """
    from analyzer.ranks.files import head_of_summary
    from traces.progress import silent
    from traces.reader.input.source import Source
    from traces.reader.mend.repairs import Repairs

    if path.exists() and not path.is_file():
        return None
    head = head_of_summary(path)
    if head is None:
        with Source(path, silent, Repairs(path.name)) as source:
            head = next(source.blocks(), b"")
    match = _STATED.search(head)
    if match is None:
        return None
    text = head[match.end() : match.end() + _LOOKED_AT]
    rank, size = _RANK.search(text), _SIZE.search(text)
    return (int(rank[1]), int(size[1])) if rank and size else None
