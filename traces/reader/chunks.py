"""Text to runs of events, without ever holding the whole file.

The events' array is cut between two events: at the last `},{` of each block. Such a place may also lie inside an event's
arguments (a list of objects), so a cut counts only if both sides decode; else an earlier one is tried, and at last the text is
scanned with its nesting. What stands before and after the array is metadata.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from traces.errors import UnreadableTraceError
from traces.reader.events import DECODER, EXACT_DECODER, Event

_ARRAY = re.compile(rb'"traceEvents"\s*:\s*\[')
_ARRAY_END = re.compile(rb'\]\s*(?=,\s*"|\})')
_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*"|[\[\]{}]', re.DOTALL)
# Beyond 2**43 us a float64 no longer tells nanoseconds apart.
_FLOAT_LIMIT_US = float(1 << 43)
# A head longer than this holds no trace: metadata of real files stays far below.
_HEAD_LIMIT = 64 << 20


class Chunks:
    """Decodes blocks of text into lists of events; `top` holds the other top-level keys once iteration ended.

    Args:
        blocks: The text.
        name: File name, for messages.
    """

    def __init__(self, blocks: Iterable[bytes], name: str) -> None:
        self._blocks = iter(blocks)
        self._name = name
        self._exact = False
        self._offset = 0
        self.top: dict[str, Any] = {}
        self.bare_list = False

    def __iter__(self) -> Iterator[list[Event]]:
        buffer = self._head()
        ended = False
        for block in self._blocks:
            buffer += block
            cut, events, ended = self._decode_front(buffer)
            if events:
                yield events
            buffer = buffer[cut:]
            if ended:
                break
        if ended:
            for block in self._blocks:
                buffer += block
        else:
            events, buffer = self._decode_end(buffer)
            if events:
                yield events
        self._tail(buffer)

    def _head(self) -> bytes:
        """Reads up to the array's bracket and returns what follows it."""
        buffer = b""
        for block in self._blocks:
            buffer += block
            text = buffer.lstrip(b"\xef\xbb\xbf \t\r\n")
            if text.startswith(b"["):
                self.bare_list = True
                self._offset = len(buffer) - len(text) + 1
                return text[1:]
            match = _ARRAY.search(buffer)
            if match:
                self._metadata(buffer[: match.start()].rstrip().rstrip(b",") + b"}")
                self._offset = match.end()
                return buffer[match.end() :]
            if (text and not text.startswith(b"{")) or len(buffer) > _HEAD_LIMIT:
                break
        raise self._not_a_trace(buffer)

    def _not_a_trace(self, buffer: bytes) -> UnreadableTraceError:
        start = buffer.lstrip()[:40]
        if start.startswith(b"{"):
            what, why = "has no traceEvents", "it is JSON of another kind, or the export was cut before the first event"
        else:
            what, why = "is not a Chrome trace", f"it begins with {start.decode('utf-8', 'replace')!r}"
        return UnreadableTraceError(
            f"{self._name} {what}", where="byte 0", why=why,
            fix="export it with prof.export_chrome_trace(...), or record one with `advisor collect`",
        )

    def _metadata(self, text: bytes) -> None:
        try:
            value = msgspec.json.decode(text)
        except msgspec.DecodeError:
            return
        if isinstance(value, dict):
            self.top.update(value)

    def _tail(self, text: bytes) -> None:
        rest = text.strip()
        if rest.startswith(b","):
            self._metadata(b"{" + rest[1:])

    def _decode_front(self, buffer: bytes) -> tuple[int, list[Event], bool]:
        """Decodes whole events from the front: (bytes used, events, whether the array ended)."""
        for cut in _boundaries(buffer):
            events = self._try(buffer[:cut])
            if events is not None:
                self._offset += cut + 1
                return _after_comma(buffer, cut), events, False
        position, closed = _scan(buffer)
        if closed or position:
            events = self._must(buffer[:position])
            return (position + 1 if closed else _after_comma(buffer, position)), events, closed
        return 0, [], False

    def _decode_end(self, buffer: bytes) -> tuple[list[Event], bytes]:
        """Decodes the last events: (events, what follows the array)."""
        if self.bare_list:
            end = buffer.rstrip()
            if end.endswith(b"]"):
                events = self._try(end[:-1])
                if events is not None:
                    return events, b""
        else:
            for match in reversed(list(_ARRAY_END.finditer(buffer))[-64:]):
                events = self._try(buffer[: match.start()])
                if events is not None:
                    return events, buffer[match.end() :]
        position, closed = _scan(buffer)
        if not closed:
            raise UnreadableTraceError(
                f"{self._name} ends in the middle",
                where=f"after byte {self._offset + len(buffer):,}",
                why="the export was interrupted, the disk was full or a copy was cut",
                fix="record or copy the trace again",
            )
        return self._must(buffer[:position]), buffer[position + 1 :]

    def _try(self, text: bytes) -> list[Event] | None:
        array = b"[" + text.rstrip().rstrip(b",") + b"]"
        decoder: msgspec.json.Decoder[Any] = EXACT_DECODER if self._exact else DECODER
        try:
            events: list[Event] = decoder.decode(array)
        except (msgspec.DecodeError, UnicodeDecodeError):
            return None
        if not self._exact and _loses_digits(events):
            self._exact = True
            return EXACT_DECODER.decode(array)  # type: ignore[return-value]
        return events

    def _must(self, text: bytes) -> list[Event]:
        events = self._try(text)
        if events is not None:
            return events
        try:
            DECODER.decode(b"[" + text.rstrip().rstrip(b",") + b"]")
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise UnreadableTraceError(
                f"{self._name} is not valid JSON",
                where=f"in the events after byte {self._offset:,}: {error}",
                why="some profilers write names or paths without escaping them",
                fix="record it again with a newer torch",
            ) from error
        raise AssertionError("decoding failed once and then succeeded")


def _boundaries(buffer: bytes) -> Iterator[int]:
    """Places between two events, from the right: just after a `}` that is followed by `,` and `{`. At most four."""
    end = len(buffer)
    found = 0
    while found < 4:
        brace = buffer.rfind(b"{", 0, end)
        if brace < 0:
            return
        end = brace
        before = buffer[max(brace - 64, 0) : brace].rstrip()
        if not before.endswith(b","):
            continue
        before = before[:-1].rstrip()
        if before.endswith(b"}"):
            found += 1
            yield max(brace - 64, 0) + len(before)


def _after_comma(buffer: bytes, cut: int) -> int:
    """The place after the comma that follows `cut`, or `cut` where none follows."""
    comma = buffer.find(b",", cut, cut + 64)
    return comma + 1 if comma >= 0 else cut


def _scan(buffer: bytes) -> tuple[int, bool]:
    """Walks the nesting: (end of the last whole event, False) or (place of the array's closing bracket, True)."""
    depth = 0
    last = 0
    for match in _TOKEN.finditer(buffer):
        token = match.group()[:1]
        if token in b"{[":
            depth += 1
        elif token in b"}]":
            if depth == 0:
                return (match.start(), True) if token == b"]" else (last, False)
            depth -= 1
            if depth == 0:
                last = match.end()
    return last, False


def _loses_digits(events: list[Event]) -> bool:
    """Whether time stamps are so large and so fine that float64 has rounded them; one file writes all of them one way."""
    return any(
        type(event.ts) is float and event.ts >= _FLOAT_LIMIT_US and event.ts != int(event.ts) for event in events[:256]
    )
