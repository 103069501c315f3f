"""The summaries in one file: of a trace, of each rank in a merged trace, or the one that was written before."""

from __future__ import annotations

from pathlib import Path

import msgspec

from analyzer.explain import Explained, Options, explain_facts
from analyzer.facts import Facts
from analyzer.job.summarize import summarize
from analyzer.ranks.files import load, looks_like_summary
from analyzer.ranks.summary import RankSummary
from traces.errors import UsageError
from traces.progress import Progress, silent
from traces.reader.read import read_every

_PLAIN = Options()


def summaries_in(path: Path, options: Options = _PLAIN, progress: Progress | None = None) -> tuple[RankSummary, ...]:
    """The summary of every rank in a file; a merged trace holds several.

    Args:
        path: A trace or a summary.
        options: What to run on the traces.
        progress: As for `analyzer.explain.analyse`.

    Raises:
        UnreadableTraceError: The file is neither, or is damaged.
    """
    if looks_like_summary(path):
        return (load(path, str(path)),)
    traces = read_every(path, progress or silent, strict=options.strict)
    return tuple(summarized(Facts(trace, options.steps), options, progress)[1] for trace in traces)


def summarized(facts: Facts, options: Options, progress: Progress | None) -> tuple[Explained, RankSummary]:
    """What a trace means, and its summary."""
    explained = explain_facts(facts, options, progress)
    return explained, summarize(explained, facts)


def summary_of(path: Path, options: Options = _PLAIN, progress: Progress | None = None) -> RankSummary:
    """The summary of the one rank in a file.

    Raises:
        UnreadableTraceError: The file is no trace and no summary, or is damaged.
        UsageError: It holds several ranks.
    """
    found = summaries_in(path, options, progress)
    if len(found) > 1:
        ranks = ", ".join(str(one.rank) for one in found[:8])
        raise UsageError(
            f"{path.name} holds {len(found)} ranks ({ranks}), a summary is of one",
            where=str(path),
            fix="explain the file itself, or let every rank write its own",
        )
    return found[0]


def with_rank(summary: RankSummary, rank: int) -> RankSummary:
    """The same summary for a rank that the user states."""
    return msgspec.structs.replace(summary, rank=rank, rank_source="asked")
