"""A trace with more events than it had: every readable one as it was written, the new ones after them."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from pathlib import Path

from traces.errors import UnreadableTraceError
from traces.progress import Progress, silent
from traces.reader.chunks import Chunks
from traces.reader.repairs import Repairs
from traces.reader.shapes import RawEvents
from traces.reader.source import STDIN, Source
from traces.rewrite.mended import Rewritten
from traces.rewrite.writer import check_output, trace_writer

_AT_ONCE = 10_000


def write_annotated(path: Path, output: Path, added: Iterable[bytes], progress: Progress = silent) -> Rewritten:
    """Writes a copy of a trace with events added at its end.

    Args:
        path: The trace; a file, because it was read before to know what to add.
        output: The copy; compressed when its name ends in .gz.
        added: The new events, each a JSON object.
        progress: Told how far reading is.

    Raises:
        UnreadableTraceError: The trace cannot be read at all, or holds no events.
        UsageError: The copy cannot be written.
    """
    check_output(output, path)
    repairs = Repairs("standard input" if path == STDIN else path.name)
    with Source(path, progress, repairs) as source:
        chunks = Chunks(source.blocks(), source.name, repairs, RawEvents())
        with trace_writer(output) as writer:
            for events in chunks:
                writer.write(events)
            if not writer.events:
                raise UnreadableTraceError(
                    f"{source.name} holds no events", where=str(path), fix="record the trace again"
                )
            rest = iter(added)
            while batch := list(islice(rest, _AT_ONCE)):
                writer.write(batch)
            writer.finish(chunks.top)
    return Rewritten(writer.events, output.stat().st_size, repairs.listed())
