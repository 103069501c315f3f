"""A trace with more events than it had: every readable one as it was written, the new ones after them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from traces.progress import Progress, silent
from traces.rewrite.mended import Rewritten, write_mended
from traces.rewrite.redaction import Redaction


def write_annotated(
    path: Path,
    output: Path,
    added: Iterable[bytes],
    progress: Progress = silent,
    redaction: Redaction | None = None,
) -> Rewritten:
    """Writes a copy of a trace with events added at its end.

    Args:
        path: The trace; a file, because it was read before to know what to add.
        output: The copy; compressed when its name ends in .gz.
        added: The new events, each a JSON object.
        progress: Told how far reading is.
        redaction: What all of it passes; None keeps it as it is.

    Raises:
        UnreadableTraceError: The trace cannot be read at all, or holds no events.
        UsageError: The copy cannot be written.
    """
    return write_mended(path, output, progress, added, redaction)
