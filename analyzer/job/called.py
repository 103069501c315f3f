"""What the files of a job and the job itself are called, and which ranks their names and folders state."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from urllib.parse import urlsplit

import msgspec

from analyzer.job.remote import is_url, name_of
from analyzer.ranks.document import Failed
from analyzer.ranks.names import rank_in, ranks_among
from analyzer.ranks.summary import RankSummary


def distinct_names(places: Sequence[str]) -> list[str]:
    """What to call each file: its name, with as many of its folders as tell it from the others (`rank0/trace.json`)."""
    parts = [
        PurePosixPath(urlsplit(place).path if is_url(place) else place.replace("\\", "/")).parts for place in places
    ]
    longest = max((len(one) for one in parts), default=1)
    for many in range(1, longest + 1):
        names = ["/".join(one[-many:]) for one in parts]
        if len(set(names)) == len(set(places)):
            return names
    return [name_of(place) for place in places]


def called(summary: RankSummary, name: str, place: str) -> RankSummary:
    """The summary with a name of its own, and with the rank that its folder states where nothing else does."""
    if name != name_of(place) and summary.file == name_of(place):
        summary = msgspec.structs.replace(summary, file=name)
    folder = PurePosixPath(place).parent.name
    if summary.rank is None and summary.collectives.start_ns and (rank := rank_in(folder)) is not None:
        return msgspec.structs.replace(summary, rank=rank, rank_source="file name")
    return summary


def apart(summaries: Sequence[RankSummary], names: Sequence[str]) -> list[RankSummary]:
    """The summaries, those that state the same trace called by the files that they are in: `trace.json` is that of every rank.

    Args:
        summaries: Of all files that could be read.
        names: What the file of each is called.
    """
    files = Counter(one.file for one in summaries)
    return [
        one if files[one.file] == 1 else msgspec.structs.replace(one, file=name)
        for one, name in zip(summaries, names, strict=True)
    ]


def placed(summaries: Sequence[RankSummary]) -> list[RankSummary]:
    """The summaries, with the ranks that their names state only together where nothing states one of any.

    Args:
        summaries: Of all files that could be read.
    """
    known = any(one.rank is not None or not one.collectives.start_ns for one in summaries)
    ranks = () if known else ranks_among([PurePosixPath(one.file).name for one in summaries])
    if not ranks:
        return list(summaries)
    return [
        msgspec.structs.replace(one, rank=rank, rank_source="file name")
        for one, rank in zip(summaries, ranks, strict=True)
    ]


def failed_as(name: str, reason: str) -> Failed:
    """A file that could not be read, with the rank that its name or its folder states."""
    rank = rank_in(PurePosixPath(name).name)
    if rank is None:
        rank = rank_in(PurePosixPath(name).parent.name)
    return Failed(file=name, rank=rank, reason=reason)


def job_name(places: Sequence[str]) -> str:
    """The job is called by its folder, or by the one that holds the ranks' folders."""
    parents = {place.rstrip("/").rpartition("/")[0] for place in places}
    if any(map(is_url, places)):
        return name_of(parents.pop()) if len(parents) == 1 else "job"
    folder = Path(os.path.commonpath([os.path.abspath(parent or ".") for parent in parents]))
    return folder.name or "job"
