"""The analysis as a job that can be stopped, and whose outcome is a message."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from textual.message import Message

from analyzer.tui.messages import Analysed, Failed, Progressed, Stopped
from traces.errors import AdvisorError

if TYPE_CHECKING:
    from analyzer.explain import Explained, Options

Report = Callable[[str, int, int], None]
Analyse = Callable[[Report], "Explained"]


class Cancelled(Exception):
    """Raised inside the analysis, through its progress callback, when the reader gives up."""


class Job:
    """Runs `analyse` in the caller's thread; `cancel` may be called from another one."""

    def __init__(self, analyse: Analyse) -> None:
        self._analyse = analyse
        self._cancel = threading.Event()

    def cancel(self) -> None:
        """Stop at the next report."""
        self._cancel.set()

    def run(self, post: Callable[[Message], object]) -> None:
        """Analyse; progress and outcome go to `post`."""

        def report(stage: str, done: int, total: int) -> None:
            if self._cancel.is_set():
                raise Cancelled
            post(Progressed(stage, done, total))

        try:
            post(Analysed(self._analyse(report)))
        except Cancelled:
            post(Stopped())
        except AdvisorError as error:
            post(Failed(error))
        except Exception as error:
            # The screen must survive a bug of ours; a traceback over it would be unreadable and show the reader's paths.
            post(Failed(_bug(error)))


def _bug(error: Exception) -> AdvisorError:
    return AdvisorError(
        "the analysis ended in an error of its own",
        why=f"{type(error).__name__}: {error}",
        fix="please report this; `advisor explain --plain` prints where it happened",
    )


def job_for(path: Path, options: Options) -> Job:
    """The job that explains the trace at `path`."""

    def analyse(report: Report) -> Explained:
        # pandas and the readers take a quarter of a second to import: inside the thread, behind the first screen.
        from analyzer.explain import Explained, analyse_with_facts
        from analyzer.report.load import load

        saved = load(path)
        return analyse_with_facts(path, options, report) if saved is None else Explained(saved)

    return Job(analyse)
