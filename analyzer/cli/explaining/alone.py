"""One trace explained for its documents: decoded in other processes beside the imports, or not at all where its answer was kept."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from analyzer.cli.streams.progress import ProgressLine
from traces.arrowless_pandas import import_pandas
from traces.one_heap import share_one_heap
from traces.threadless_numpy import import_numpy
from traces.uncollected import uncollected

if TYPE_CHECKING:
    from analyzer.explain import Options
    from analyzer.explained import Explained
    from traces.reader.parallel.ahead import Ahead


@contextmanager
def begun(path: Path | None, *, strict: bool, cached: bool, on_screen: bool) -> Iterator[Ahead | None]:
    """Begins to decode a trace before the configuration is read: rules that it or the call names are looked up with all imports.

    Args:
        path: The only thing that is read; None where several are, or none.
        strict: As for `traces.reader.read.read`.
        cached: Whether what was kept of the trace may be used.
        on_screen: Whether the terminal UI may answer, which needs a core for itself.

    Yields:
        What is being decoded; None where nothing is, or something was kept of it: then little may be left to decode.
    """
    from traces.reader.cache.folder import is_anything_of

    if path is None or (cached and is_anything_of(path)):
        yield None
        return
    with decoding(path, None, strict=strict, cached=cached, on_screen=on_screen) as ahead:
        yield ahead


@contextmanager
def decoding(
    path: Path, ahead: Ahead | None, *, strict: bool, cached: bool, on_screen: bool = False
) -> Iterator[Ahead]:
    """What is being decoded, or begins to be.

    Args:
        path: The trace.
        ahead: What has begun already.
        strict: As for `begun`, and the others too.
        cached: Likewise.
        on_screen: Likewise.
    """
    from traces.reader.parallel.ahead import decoding_ahead

    if ahead is not None:
        yield ahead
        return
    # On the screen threads compute side by side.
    if not on_screen:
        share_one_heap()
        # Before other processes are made: it is then in each of them. A screen that is to be drawn first waits for nothing.
        import_numpy()
    with decoding_ahead(path, strict=strict, spared_cores=int(on_screen), cached=cached) as now:
        if not on_screen:
            import_pandas()
        yield now


def explained(path: Path, options: Options, *, measured: bool, ahead: Ahead | None = None) -> Explained:
    """The answer to what lies at a path.

    Args:
        path: A trace, or a report that was written before.
        options: What to run on a trace.
        measured: Whether the measurements are needed too: of an answer that was kept there are none.
        ahead: Where decoding it has begun.

    Raises:
        UnreadableTraceError: What lies there is neither report nor trace, or is damaged.
        UsageError: The steps asked for are not in the trace.
    """
    if ahead is None and not measured and options.cached:
        from analyzer.analysis import Analysis
        from analyzer.explained import Explained
        from analyzer.opening import kept

        answer = kept.load(path, options, Analysis)
        if answer is not None:
            return Explained(answer)
    with (
        decoding(path, ahead, strict=options.strict, cached=options.cached) as now,
        ProgressLine() as progress,
        uncollected(),
    ):
        from analyzer.opening import open_paths

        return open_paths([path], options, progress, now).first
