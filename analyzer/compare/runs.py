"""What a trace's report says of a baseline: the runs to hold it against, and the answer in short."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from analyzer.analysis.changes import Since
from analyzer.compare.baseline import load_baseline
from analyzer.compare.comparison import Comparison
from analyzer.compare.snapshot import Snapshot, snapshot
from analyzer.ranks.summary import RankSummary
from traces.errors import UsageError
from traces.progress import Progress
from traces.reader.input.looks import looks_like_trace

if TYPE_CHECKING:
    from analyzer.explain import Explained, Options


def runs_before(baseline: str, options: Options, progress: Progress | None = None) -> list[Snapshot]:
    """The runs to compare with: saved ones by their name or file, or those of a trace that is named.

    Raises:
        UsageError: There is no such baseline.
        UnreadableTraceError: It is a damaged trace.
    """
    path = Path(baseline)
    if not looks_like_trace(path):
        return list(load_baseline(baseline))
    return [run_at(path, options, progress)]


def run_at(path: Path, options: Options, progress: Progress | None = None) -> Snapshot:
    """What a comparison needs of the trace at a path; with `options.cached` what was kept of it where nothing differs.

    Raises:
        UnreadableTraceError: What lies there is no trace, or is damaged.
        UsageError: The steps asked for are not in the trace.
    """
    from analyzer.opening import kept, open_trace

    known = kept.load(path, options, Snapshot)
    if known is not None:
        return known
    explained = open_trace(path, options, progress)
    made = run_of(explained)
    kept.keep(path, options, explained.analysis, made)
    return made


def rank_at(path: Path, options: Options, progress: Progress | None = None) -> tuple[Snapshot, RankSummary]:
    """The same with the trace's summary, which says what it is among the ranks of a job.

    Raises:
        UnreadableTraceError: What lies there is no trace, or is damaged.
        UsageError: The steps asked for are not in the trace, or it is a report.
    """
    from analyzer.job.summarize import summarize
    from analyzer.opening import kept, open_trace

    known, said = kept.load(path, options, Snapshot), kept.load(path, options, RankSummary)
    if known is not None and said is not None:
        return known, said
    explained = open_trace(path, options, progress)
    made = run_of(explained)
    assert explained.facts is not None  # a report is refused above
    summary = summarize(explained, explained.facts)
    for one in (made, summary):
        kept.keep(path, options, explained.analysis, one)
    return made, summary


def run_of(explained: Explained) -> Snapshot:
    """What a comparison needs of an analysed trace.

    Raises:
        UsageError: Only its report is there.
    """
    if explained.facts is None:
        raise UsageError("a report cannot be compared with a baseline", where="--baseline", fix="give the trace itself")
    return snapshot(explained.analysis, explained.facts)


def short_name(baseline: str) -> str:
    """`main` for `.advisor/baselines/main.json`."""
    return Path(baseline).name.partition(".json")[0]


def since(baseline: str, comparison: Comparison) -> Since:
    """A comparison as far as the report of its second side tells it.

    Args:
        baseline: Name or file of the first side.
        comparison: Of the two.
    """
    before, after, change = comparison.before, comparison.after, comparison.change
    return Since(
        baseline=short_name(baseline),
        before_ns=before.mean_ns if before.steps else None,
        after_ns=after.mean_ns if after.steps else None,
        before_steps=before.steps,
        after_steps=after.steps,
        kind=change.kind if change is not None else None,
        text=change.text if change is not None else None,
        differences=comparison.differences,
        rules=comparison.rules,
        noun=comparison.noun,
    )
