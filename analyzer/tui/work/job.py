"""The analysis as a job that can be stopped, and whose outcome is a message."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from textual.message import Message

from analyzer.tui.answer.opened import Opened, Since
from analyzer.tui.work.messages import Analysed, Failed, FirstLooked, Progressed, Stopped
from traces.errors import AdvisorError, UnreadableTraceError
from traces.uncollected import uncollected

if TYPE_CHECKING:
    from analyzer.analysis.first_look import FirstLook
    from analyzer.compare.comparison import Comparison
    from analyzer.compare.snapshot import Snapshot
    from analyzer.explain import Explained, Options
    from analyzer.job.engines import Engine
    from traces.reader.parallel.ahead import Ahead

# Of one stage the screen is told no oftener: it is drawn by a thread that shares the interpreter with the analysis.
_PAUSE_S = 0.1


class Cancelled(Exception):
    """Raised inside the analysis, through its progress callback, when the reader gives up."""


class Report:
    """Tells the screen where the analysis is; a progress (`traces.progress`) that takes a first look too.

    Args:
        post: Where messages go.
        wanted: Whether anybody still waits.
    """

    def __init__(self, post: Callable[[Message], object], wanted: Callable[[], bool]) -> None:
        self._post, self._wanted = post, wanted
        self._stage, self._told = "", 0.0

    def __call__(self, stage: str, done: int, total: int) -> None:
        """The analysis is at `done` of `total` of a stage.

        Raises:
            Cancelled: Nobody waits.
        """
        self._go_on()
        now = time.monotonic()
        if stage != self._stage or done >= total or now - self._told >= _PAUSE_S:
            self._stage, self._told = stage, now
            self._post(Progressed(stage, done, total))

    def look_first(self, look: FirstLook) -> None:
        """Show what is known before the rules run.

        Raises:
            Cancelled: Nobody waits.
        """
        self._go_on()
        self._post(FirstLooked(look))

    def only_stages(self, stage: str, done: int, total: int) -> None:
        """As the report, of a trace that is not the one to be shown."""
        self(stage, done, total)

    def _go_on(self) -> None:
        if not self._wanted():
            raise Cancelled


Analyse = Callable[[Report], Opened]


class Job:
    """Runs `analyse` in the caller's thread; `cancel` may be called from another one."""

    def __init__(self, analyse: Analyse) -> None:
        self._analyse = analyse
        self._cancel = threading.Event()

    def cancel(self) -> None:
        """Stop at the next report."""
        self._cancel.set()

    def run(self, post: Callable[[Message], object]) -> None:
        """Analyse; progress and outcome go to `post`. A bug of ours is raised."""
        report = Report(post, lambda: not self._cancel.is_set())
        try:
            post(Analysed(self._analyse(report)))
        except Cancelled:
            post(Stopped())
        except AdvisorError as error:
            post(Failed(error))


def bug(error: BaseException) -> AdvisorError:
    """A bug of ours, or too little memory, as a message: a traceback over the screen would show the reader's paths."""
    if isinstance(error, MemoryError):
        return UnreadableTraceError(
            "there is not enough memory",
            why="the trace holds more events than fit in what this process may have",
            fix="cut it first: `advisor slim TRACE -o small.json.gz --steps A-B --no-python`",
        )
    return AdvisorError(
        "the analysis ended in an error of its own",
        why=f"{type(error).__name__}: {error}",
        fix="please report this; `advisor explain --plain` prints where it happened",
    )


def job_for(
    paths: Sequence[Path],
    options: Options,
    baseline: str | None = None,
    ahead: Ahead | None = None,
    engine: Callable[[], Engine] | None = None,
) -> Job:
    """The job that explains the trace at a path, or the ranks of one job.

    Args:
        paths: One trace or report, or the traces of all ranks.
        options: How to analyse.
        baseline: Name or file of the runs to compare with, or a trace.
        ahead: Where decoding the trace may have begun already.
        engine: Makes who reads the ranks of a job; this process where none is named.
    """

    def analyse(report: Report) -> Opened:
        # pandas and the readers take a quarter of a second to import: inside the thread, behind the first screen.
        with uncollected():
            return opened(report)

    def opened(report: Report) -> Opened:
        from analyzer.opening import open_paths

        if baseline is None:
            explained = open_paths(paths, options, report, ahead, engine=asked()).explained
            return Opened(explained, paths=_places(paths, explained), deep=options.deep)
        from analyzer.compare.runs import runs_before, short_name

        before = runs_before(baseline, options, report.only_stages)
        explained = open_paths(paths, options, report, ahead, engine=asked()).explained
        report("comparing", 0, 1)
        since = tuple(Since(short_name(baseline), one) for one in _compared(before, explained))
        return Opened(explained, since, _places(paths, explained), options.deep)

    def asked() -> Engine | None:
        return None if engine is None or len(paths) == 1 else engine()

    return Job(analyse)


def _places(paths: Sequence[Path], explained: Sequence[Explained]) -> tuple[Path | None, ...]:
    """Where each can be read again; nowhere where one file holds several ranks."""
    from analyzer.job.called import distinct_names

    known = {
        name: path for name, path in zip(distinct_names(list(map(str, paths))), paths, strict=True) if path.is_file()
    }
    again = len(known) == len(explained)
    return tuple(known.get(one.analysis.trace.name) if again and one.facts is not None else None for one in explained)


def _compared(before: Sequence[Snapshot], explained: Sequence[Explained]) -> list[Comparison]:
    from analyzer.compare.comparison import compare
    from analyzer.compare.runs import run_of

    runs = [run_of(one) for one in explained]
    return [compare(before, [run]) for run in runs]
