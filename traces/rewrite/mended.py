"""A damaged trace to a sound one: every readable event as it was written, valid JSON that any viewer opens."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from traces.progress import Progress, silent
from traces.reader.about.eventless import without_events
from traces.reader.about.provenance import with_losses
from traces.reader.decode.chunks import Chunks
from traces.reader.decode.shapes import RawEvents
from traces.reader.input.source import STDIN, Source
from traces.reader.mend.repairs import Repairs
from traces.rewrite.redaction import Redaction
from traces.rewrite.writer import check_output, trace_writer
from traces.trace import Repair

_AT_ONCE = 10_000


@dataclass(frozen=True)
class Rewritten:
    """What was written.

    Args:
        events: Events in the new file.
        size_bytes: Bytes of the new file.
        repairs: What had to be mended.
        redaction: What was not to be shown, where that was asked for.
    """

    events: int
    size_bytes: int
    repairs: tuple[Repair, ...]
    redaction: Redaction | None = None


def write_mended(
    path: Path,
    output: Path,
    progress: Progress = silent,
    added: Iterable[bytes] = (),
    redaction: Redaction | None = None,
) -> Rewritten:
    """Writes a repaired copy of a trace.

    Args:
        path: The trace; `-` is the standard input.
        output: The copy; compressed when its name ends in .gz.
        progress: Told how far reading is.
        added: Further events to put after the trace's own, each a JSON object.
        redaction: What all of it passes; None keeps it as it is.

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
                writer.write(redaction.events(events) if redaction else events)
            if not writer.events:
                raise without_events(source.name, repairs)
            rest = iter(redaction.events(added) if redaction else added)
            while batch := list(islice(rest, _AT_ONCE)):
                writer.write(batch)
            top = with_losses(chunks.top, repairs)
            writer.finish(redaction.top(top) if redaction else top)
    return Rewritten(writer.events, output.stat().st_size, repairs.listed(), redaction)
