"""One trace explained for its documents: decoded in other processes beside the imports, or not at all where its answer was kept."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from analyzer.cli.streams.progress import ProgressLine
from traces.one_heap import share_one_heap
from traces.uncollected import uncollected

if TYPE_CHECKING:
    from analyzer.explain import Options
    from analyzer.explained import Explained


def explained(path: Path, options: Options, *, measured: bool) -> Explained:
    """The answer to what lies at a path.

    Args:
        path: A trace, or a report that was written before.
        options: What to run on a trace.
        measured: Whether the measurements are needed too: of an answer that was kept there are none.

    Raises:
        UnreadableTraceError: What lies there is neither report nor trace, or is damaged.
        UsageError: The steps asked for are not in the trace.
    """
    from traces.reader.parallel.ahead import decoding_ahead

    if not measured and options.cached:
        from analyzer.analysis import Analysis
        from analyzer.explained import Explained
        from analyzer.opening import kept

        answer = kept.load(path, options, Analysis)
        if answer is not None:
            return Explained(answer)
    share_one_heap()
    with (
        decoding_ahead(path, strict=options.strict, cached=options.cached) as ahead,
        ProgressLine() as progress,
        uncollected(),
    ):
        from analyzer.opening import open_paths

        return open_paths([path], options, progress, ahead).first
