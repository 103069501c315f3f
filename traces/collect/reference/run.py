"""One recording from options to file. Imports torch only when it runs."""

from __future__ import annotations

import os

from traces.collect.needs import check_installed
from traces.collect.output.files import check_writable
from traces.collect.reference.config import CollectConfig
from traces.collect.reference.result import CollectResult, Progress, Say


def collect(config: CollectConfig, progress: Progress | None = None, say: Say | None = None) -> CollectResult:
    """Train the reference loop, record some of its steps and write the trace.

    Sets torch's global seed. Interrupted, it writes the trace if all steps to record were recorded,
    else nothing, and lets the KeyboardInterrupt through.

    Args:
        config: what to train and record.
        progress: for a progress bar, over the drawing of digits and then the training.
        say: gets the notes and the line per epoch.

    Raises:
        UsageError: torch is missing, the output cannot be written, there is no CUDA device, or the
            steps are too few for the schedule.
    """
    check_writable(config.output)
    check_installed("recording")
    # Without a GPU torch's profiler writes an ERROR line about that to stderr; it reads this once, at import.
    os.environ.setdefault("KINETO_LOG_LEVEL", "99")
    from traces.collect.reference.session import record_session

    return record_session(config, progress or _ignore_progress, say or _ignore_line)


def _ignore_progress(done: int, total: int, label: str) -> None:
    """Nobody is watching."""


def _ignore_line(line: str) -> None:
    """Nobody is reading."""
