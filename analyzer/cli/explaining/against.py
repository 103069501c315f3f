"""`advisor explain --baseline`: the report of a trace with what changed since a baseline."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from analyzer.cli.arguments import sides
from analyzer.cli.explaining.documents import Document
from analyzer.cli.streams.progress import ProgressLine
from traces.errors import UsageError

if TYPE_CHECKING:
    from analyzer.analysis import Analysis
    from analyzer.compare.snapshot import Snapshot
    from analyzer.explain import Explained, Options

# Formats that have a place for it.
SHOWN_IN = ("text", "markdown", "html", "json", "github")


def check(baseline: str, sources: Sequence[Path], planned: Sequence[Document]) -> None:
    """Refuse, before any work, a baseline that nothing could be held against or that no document would show.

    Raises:
        UsageError: It is such a call.
    """
    from analyzer.opening.saved import is_report

    for source in sources:
        if is_report(source):
            raise UsageError(
                f"{source.name} is a report and cannot be compared with a baseline",
                where="--baseline",
                fix=f"advisor explain TRACE --baseline {baseline}",
            )
    if not any(document.form in SHOWN_IN for document in planned):
        raise UsageError(
            f"{' and '.join(document.form for document in planned)} has no place for what changed since a baseline",
            where="--baseline",
            fix=f"add one of {', '.join(SHOWN_IN)}",
        )


def runs(baseline: str, options: Options, *, redacted: bool) -> list[Snapshot]:
    """The baseline's runs. One written elsewhere is redacted here too, or its names would not be those of the trace."""
    from analyzer.compare.runs import runs_before

    with ProgressLine() as progress:
        before = runs_before(baseline, options, progress)
    return sides.shown(before) if redacted else before


def with_since(explained: Explained, baseline: str, before: Sequence[Snapshot], *, redacted: bool) -> Analysis:
    """The analysis with what changed since the baseline."""
    from msgspec.structs import replace

    from analyzer.compare.comparison import compare
    from analyzer.compare.runs import run_of, since

    after = [run_of(explained)]
    comparison = compare(before, sides.shown(after) if redacted else after)
    return replace(explained.analysis, since=since(baseline, comparison))
