"""A large trace to a small one: some steps, without what is not needed there. Reads the file twice.

The first pass learns when the steps were and which launches lie within them; the second copies events.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from traces.errors import UsageError
from traces.progress import Progress, silent
from traces.reader.about.eventless import without_events
from traces.reader.about.provenance import with_losses
from traces.reader.columns.numbers import integers, nanoseconds
from traces.reader.decode.chunks import Chunks
from traces.reader.decode.shapes import RawEvents, TypedEvents
from traces.reader.events import Event
from traces.reader.input.source import STDIN, Source
from traces.reader.mend.loose import decode_loosely
from traces.reader.mend.repairs import Repairs
from traces.reader.names.vocabulary import Kind, event_kind, step_number
from traces.rewrite.mended import Rewritten
from traces.rewrite.redaction import Redaction
from traces.rewrite.writer import check_output, trace_writer

# Arguments in lower case: writers differ in it.
_SHAPES = frozenset(
    (
        "input dims", "input type", "input strides", "input names", "concrete inputs",
        "output dims", "output type", "output names",
    )
)  # fmt: skip
_STACKS = frozenset(("call stack", "python id", "python parent id", "python module id"))
_FLOWS = frozenset("stf")
_EVENT = msgspec.json.Decoder(Event)
_FIELDS = msgspec.json.Decoder(dict[str, msgspec.Raw])


@dataclass(frozen=True)
class Window:
    """What of the file to keep.

    Args:
        start_ns: On the file's clock.
        end_ns: On the file's clock.
        launches: Correlation ids of calls within, whose device work may come later.
    """

    start_ns: int
    end_ns: int
    launches: frozenset[int]

    def holds(self, event: Event) -> bool:
        """Whether the event overlaps the window or was launched in it."""
        (start, dur), known = _times(event)
        if not known:
            return event.ph == "M"
        if event.ph == "M" or (start < self.end_ns and max(start + dur, start + 1) > self.start_ns):
            return True
        return self._launched(event)

    def _launched(self, event: Event) -> bool:
        if event.ph in _FLOWS:
            return False
        correlation = event.args.correlation if event.args else None
        return correlation is not None and integers([correlation])[0].tolist()[0] in self.launches


def write_slim(
    path: Path,
    output: Path,
    *,
    steps: tuple[int, int] | None = None,
    python: bool = True,
    shapes: bool = True,
    progress: Progress = silent,
    redaction: Redaction | None = None,
) -> Rewritten:
    """Writes a smaller copy of a trace.

    Args:
        path: The trace; a file, because it is read twice.
        output: The copy; compressed when its name ends in .gz.
        steps: First and last ProfilerStep number to keep; None keeps all.
        python: Whether to keep Python calls, and the call stacks of operators.
        shapes: Whether to keep shapes and types of inputs.
        progress: Told how far each pass is.
        redaction: What all of it passes; None keeps it as it is.

    Raises:
        UnreadableTraceError: The trace cannot be read, or holds no events.
        UsageError: There are no such steps, nothing would be left, or the copy cannot be written.
    """
    check_output(output, path)
    if path == STDIN and steps is not None:
        raise UsageError("the standard input can be read only once", fix="give the trace as a file")
    window = _window(path, steps, progress) if steps else None
    repairs = Repairs("standard input" if path == STDIN else path.name)
    with Source(path, progress, repairs) as source:
        chunks = Chunks(source.blocks(), source.name, repairs, RawEvents())
        with trace_writer(output) as writer:
            without = _Without((frozenset() if python else _STACKS) | (frozenset() if shapes else _SHAPES))
            held = False
            for events in chunks:
                held |= bool(events)
                kept = _kept(events, window, without, python=python)
                writer.write(redaction.events(kept) if redaction else kept)
            if not held:
                raise without_events(source.name, repairs)
            if not writer.events:
                raise UsageError("nothing of the trace would be left", where=str(path), fix="keep more of it")
            top = with_losses(chunks.top, repairs)
            writer.finish(redaction.top(top) if redaction else top)
    return Rewritten(writer.events, output.stat().st_size, repairs.listed(), redaction)


def _kept(events: list[bytes], window: Window | None, without: _Without, *, python: bool) -> Iterator[bytes]:
    for text in events:
        event = _typed(text)
        if event is None or (window is not None and not window.holds(event)):
            continue
        if not python and event_kind(event.ph, event.cat) is Kind.PYTHON:
            continue
        yield without.of(text)


def _typed(text: bytes) -> Event | None:
    try:
        return _EVENT.decode(text)
    except msgspec.ValidationError:
        return decode_loosely(Event, text)[0]
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


class _Without:
    """Leaves arguments out of events.

    Args:
        names: Theirs, in lower case.
    """

    def __init__(self, names: frozenset[str]) -> None:
        self._names = names
        self._any = re.compile(b"|".join(b'"%b"' % name.encode() for name in sorted(names)), re.IGNORECASE)

    def of(self, text: bytes) -> bytes:
        """An event's text without them; as it was written where it has none."""
        if not self._names or not self._any.search(text):
            return text
        fields = _FIELDS.decode(text)
        args = fields.get("args")
        if args is None or not bytes(args).lstrip().startswith(b"{"):
            return text
        kept = {key: value for key, value in _FIELDS.decode(args).items() if key.lower() not in self._names}
        fields["args"] = msgspec.Raw(msgspec.json.encode(kept))
        return msgspec.json.encode(fields)


def _times(event: Event) -> tuple[tuple[int, int], bool]:
    values, known = nanoseconds([event.ts, event.dur])
    return (int(values[0]), max(int(values[1]), 0)), bool(known[0])


def _window(path: Path, steps: tuple[int, int], progress: Progress) -> Window:
    """The time from the first step's start to the last one's end, and the launches in it."""
    marks: dict[int, tuple[int, int]] = {}
    starts: list[Any] = []
    ids: list[Any] = []
    repairs = Repairs(path.name)
    with Source(path, progress, repairs) as source:
        for events in Chunks(source.blocks(), source.name, repairs, TypedEvents(repairs)):
            calls = _calls_and_steps(events, marks)
            starts.append(nanoseconds([event.ts for event in calls])[0])
            ids.append(integers([event.args.correlation if event.args else None for event in calls])[0])
    chosen = [span for number, span in marks.items() if steps[0] <= number <= steps[1]]
    if not chosen:
        raise _no_such_steps(path, marks)
    start, end = min(first for first, _ in chosen), max(last for _, last in chosen)
    when, which = np.concatenate(starts), np.concatenate(ids)
    inside = (when >= start) & (when < end) & (which != 0)
    return Window(start, end, frozenset(which[inside].tolist()))


def _calls_and_steps(events: list[Event], marks: dict[int, tuple[int, int]]) -> list[Event]:
    calls = []
    for event in events:
        kind = event_kind(event.ph, event.cat)
        if kind is Kind.RUNTIME:
            calls.append(event)
        elif kind in (Kind.ANNOTATION, Kind.OP):
            number = step_number(event.name or "")
            (start, dur), known = _times(event) if number is not None else ((0, 0), False)
            if number is not None and known and dur >= marks.get(number, (0, 0))[1] - marks.get(number, (0, 0))[0]:
                marks[number] = (start, start + dur)
    return calls


def _no_such_steps(path: Path, marks: dict[int, tuple[int, int]]) -> UsageError:
    if not marks:
        return UsageError(
            "the trace has no step marks to cut at",
            where=str(path),
            why="prof.step() was not called while it was recorded",
            fix="leave --steps out, or record with `advisor collect`",
        )
    return UsageError(
        "the trace has no such steps",
        where="--steps",
        fix=f"choose among {min(marks)}-{max(marks)}",
    )
