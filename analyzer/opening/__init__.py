"""The one door: what lies at a path, opened for whoever shows it.

A path may be a report that was written before, one trace, a file of several ranks, a pipe; several paths are the ranks of one job
or recordings side by side. The command line, the terminal UI and comparisons ask here, and no report reads a trace.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from analyzer.explained import Explained, Job
from traces.progress import Progress

# As for the reader of traces, whose modules (a quarter of a second, with pandas) need not be imported to open a report.
STDIN = Path("-")

if TYPE_CHECKING:
    from analyzer.explain import Options
    from analyzer.job.engines import Engine
    from traces.reader.parallel.ahead import Ahead

__all__ = ["STDIN", "open_paths", "open_trace"]


def open_paths(
    paths: Sequence[Path | str],
    options: Options,
    progress: Progress,
    ahead: Ahead | None = None,
    *,
    only_first: bool = False,
    engine: Engine | None = None,
) -> Job:
    """What lies at the paths, each answer with its measurements but for that of a report.

    Args:
        paths: One report, trace or file of several ranks; or several traces, URLs among them. At least one.
        options: What to run on a trace.
        progress: Told (stage, done, total); raise from it to cancel.
        ahead: Where decoding a single trace may have begun already.
        engine: Who reads the ranks of a job; this process where none is named.
        only_first: Whether of one job's ranks only the one to look at first is to be explained.

    Returns:
        The answer to one path, the ranks of one job with the one to look at first in front, or an answer for each trace.

    Raises:
        UnreadableTraceError: What lies there is neither report nor trace, or is damaged.
        UsageError: The steps asked for are not in the trace.
    """
    from analyzer.ranks.files import looks_like_summary

    first = paths[0]
    if len(paths) == 1 and isinstance(first, Path) and not looks_like_summary(first):
        from analyzer.opening.saved import load

        saved = load(first, progress)
        alone = Explained(saved) if saved is not None else _alone(first, options, progress, ahead)
        if alone is not None:
            return Job((alone,), False)
    from analyzer.job import explain_job

    job = explain_job(paths, options, progress, engine, only_first=only_first)
    return job if job.one_job or len(paths) > 1 else Job(job.explained[:1], False)


def open_trace(path: Path, options: Options, progress: Progress | None = None) -> Explained:
    """The answer to one trace that is no report, its first rank where a file holds several; with the measurements.

    Raises:
        UnreadableTraceError: What lies there is no trace, or is damaged.
        UsageError: The steps asked for are not in the trace.
    """
    from analyzer.explain import analyse_with_facts

    return analyse_with_facts(path, options, progress)


def _alone(path: Path, options: Options, progress: Progress, ahead: Ahead | None) -> Explained | None:
    """The answer to a trace that is the only one of its file; None where others may follow it."""
    # What a pipe gave is gone afterwards. Strict reading of the first rank alone would refuse the others that follow it.
    if _is_pipe(path) or options.strict:
        return None
    from analyzer.explain import analyse_with_facts

    found = analyse_with_facts(path, options, progress, ahead.decode if ahead else None)
    if any(repair.kind == "several-documents" for repair in found.analysis.repairs):
        return None
    if options.cached:
        from analyzer.opening import kept

        kept.keep(path, options, found.analysis, found.analysis)
    return found


def _is_pipe(path: Path) -> bool:
    """Whether what is read from there is gone afterwards."""
    try:
        return (path.exists() and not path.is_file() and not path.is_dir()) or path == STDIN
    except (OSError, ValueError):
        # No such path can be: the reader says so.
        return False
