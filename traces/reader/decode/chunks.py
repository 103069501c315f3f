"""Text to runs of events, without ever holding the whole file.

The events' array is cut between two events: at the last `},{` of each block. Such a place may also lie inside an
event's arguments (a list of objects), so a cut counts only if what stands before it decodes; else an earlier one is
tried. Where none decodes, the text is damaged or the array ends inside: `salvage` then finds out which. What stands
before and after the array is metadata.
"""

from __future__ import annotations

import shlex
from codecs import BOM_UTF8
from collections.abc import Iterable, Iterator
from typing import Any, Generic

import msgspec

from traces.errors import UnreadableTraceError
from traces.patterns import Pattern
from traces.reader import limits
from traces.reader.decode.boundaries import CUTS_TRIED, GAP_BYTES, boundaries, gap
from traces.reader.input import sniff
from traces.reader.mend.escapes import mend
from traces.reader.mend.nesting import object_end
from traces.reader.mend.places import Places
from traces.reader.mend.repairs import Repairs
from traces.reader.mend.salvage import Salvage
from traces.reader.shape import FAILURES, Item, Shape

_ARRAY = Pattern(rb'"traceEvents"\s*:\s*\[')
_ARRAY_END = Pattern(rb'\]\s*(?=,\s*"|\}|\Z)')
_SPACE = b" \t\r\n"
_NOTHING = _SPACE + b"\0" + BOM_UTF8
# A second document shows its list of events within this distance, or is none.
_LOOKED_AT = 8 << 20


class Chunks(Generic[Item]):
    """Decodes blocks of text into lists of events; `top` holds the other top-level keys once iteration ended.

    `closed` is then true where nothing but the closing brace stood behind the events. Where another document follows in
    the same text, `followed` is true and `rest` gives it, from `rest_offset` on.

    Args:
        blocks: The text.
        name: File name, for messages.
        repairs: Where repairs are counted.
        shape: What events are decoded into.
        several: Whether the caller reads the documents that follow too; else they are counted as a repair and skipped.
        offset: Byte of the whole text at which the first block begins.
    """

    def __init__(
        self,
        blocks: Iterable[bytes],
        name: str,
        repairs: Repairs,
        shape: Shape[Item],
        *,
        several: bool = False,
        offset: int = 0,
    ) -> None:
        self._blocks = iter(blocks)
        self._name = name
        self._repairs = repairs
        self._shape = shape
        self._offset = offset
        self._received = offset
        self._events = 0
        self.places = Places()
        self.top: dict[str, Any] = {}
        self.bare_list = False
        self.closed = False
        self.followed = False
        self._several = several
        self._rest = b""
        self.rest_offset = 0

    def __iter__(self) -> Iterator[list[Item]]:
        buffer = self._head()
        ended = False
        # Where an event is longer than a block, twice as much is looked at each time: its cost stays linear.
        while more := self._more(min(len(buffer), limits.MAX_EVENT_BYTES - len(buffer))):
            events, used, ended = self._front(buffer, more)
            if events:
                yield from self._given(events)
            buffer = buffer[used:] + more[max(used - len(buffer), 0) :]
            self._offset += used
            if ended:
                break
            limits.check_event(self._name, len(buffer), self._offset)
        if not ended:
            events, used = self._last(buffer)
            if events:
                yield from self._given(events)
            buffer = buffer[used:]
            self._offset += used
        self.places.add(self._events, self._offset)
        self._tail(buffer)

    def _more(self, size: int) -> bytes:
        """At least the next block, and so many that they have `size` bytes; less only at the end."""
        blocks: list[bytes] = []
        for block in filter(None, self._blocks):
            blocks.append(block)
            size -= len(block)
            self._received += len(block)
            if size <= 0:
                break
        return b"".join(blocks)

    def _given(self, events: list[Item]) -> Iterator[list[Item]]:
        self._events += len(events)
        yield events

    def _head(self) -> bytes:
        """Reads up to the array's bracket and returns what follows it."""
        buffer = b""
        while more := self._more(len(buffer)):
            buffer += more
            text = buffer.removeprefix(BOM_UTF8).lstrip(_SPACE)
            if text.startswith(b"["):
                sniff.refuse_other_lists(self._name, text[: sniff.LIST_HEAD_BYTES])
                self.bare_list = True
                self._offset += len(buffer) - len(text) + 1
                return text[1:]
            match = _ARRAY.search(buffer)
            if match:
                begins = max(buffer.find(b"{"), 0)
                if begins > len(buffer) - len(text):
                    self._repairs.add("leading-text", self._offset)
                self._metadata(buffer[begins : match.start()].rstrip().rstrip(b",") + b"}")
                self._offset += match.end()
                return buffer[match.end() :]
            if (text and not text.startswith(b"{")) or len(buffer) > limits.MAX_METADATA_BYTES:
                break
        raise self._not_a_trace(buffer)

    def _not_a_trace(self, buffer: bytes) -> UnreadableTraceError:
        start = buffer.removeprefix(BOM_UTF8).lstrip()[:4096]
        fix = "export it with prof.export_chrome_trace(...), or record one with `advisor collect`"
        if sniff.is_folded(start):
            what, why = "holds stacks for a flame graph", "it says how long each took in all, not when"
            fix = f"{fix}; https://www.speedscope.app draws this file"
        elif not start.startswith(b"{"):
            what = "is not a Chrome trace"
            why = f"it begins with {start[:40].decode('utf-8', 'replace')!r}"
            if self._name.endswith(".py"):
                why, fix = "it is a Python script", f"record it first: advisor collect {shlex.quote(self._name)}"
        elif len(buffer) > limits.MAX_METADATA_BYTES:
            what = f"has no traceEvents in its first {limits.MAX_METADATA_BYTES >> 20} MB"
            why = "no trace holds so much before its events; the file is something else, or was made to fill memory"
        elif known := sniff.other_json(start):
            what, fix = f"is {known[0]}", known[1]
            why = "it has no traceEvents"
        else:
            what = "has no traceEvents"
            why = "it is JSON of another kind, or the export was cut before the first event"
        return UnreadableTraceError(f"{self._name} {what}", where="byte 0", why=why, fix=fix)

    def _metadata(self, text: bytes) -> None:
        """Keeps the keys of an object; a damaged one costs its keys, not the file."""
        try:
            value = msgspec.json.decode(text)
        except FAILURES:
            value = self._mended_metadata(text)
        if isinstance(value, dict):
            if value.pop("traceEvents", None) is not None:
                self._repairs.add("second-list", self._offset)
            self.top.update(value)

    def _mended_metadata(self, text: bytes) -> Any:
        mended, counts = mend(text)
        try:
            value = msgspec.json.decode(mended)
        except FAILURES:
            self._repairs.add("damaged-metadata", self._offset)
            return None
        for kind, count in counts.items():
            self._repairs.add(kind, self._offset, count=count)
        return value

    def _tail(self, buffer: bytes) -> None:
        """Reads the keys after the array, and looks for what must not follow them."""
        if self.bare_list:
            self._after_end(buffer)
            return
        end = object_end(buffer)
        while end is None and len(buffer) <= limits.MAX_METADATA_BYTES and (more := self._more(len(buffer))):
            buffer += more
            end = object_end(buffer)
        if end is None:
            buffer = buffer.strip(_NOTHING)
            if not buffer:
                return
            self._repairs.add("truncated-metadata", self._offset + len(buffer))
            end = len(buffer)
            buffer += b"}"
        inside = buffer[: end + 1].lstrip(b"," + _NOTHING)
        self.closed = inside == b"}"
        if not self.closed:
            self._metadata(b"{" + inside)
        self._after_end(buffer[end + 1 :])

    def _after_end(self, rest: bytes) -> None:
        """Finds out what stands behind the document: nothing, another one, or text without meaning."""
        rest = rest.lstrip(_NOTHING)
        for block in self._blocks:
            self._received += len(block)
            rest = (rest + block).lstrip(_NOTHING)
            if _begins_trace(rest) or len(rest) > _LOOKED_AT:
                break
        if not rest:
            return
        self.rest_offset = self._received - len(rest)
        if not _begins_trace(rest):
            self._repairs.add("trailing-text", self.rest_offset)
        else:
            self.followed, self._rest = True, rest
            if not self._several:
                self._repairs.add("several-documents", self.rest_offset, detail=" (give every rank its own file)")
        if not (self.followed and self._several):
            for _ in self._blocks:  # to the end, for the digest of the file
                pass

    def rest(self) -> Iterator[bytes]:
        """The text of the documents that follow."""
        yield self._rest
        yield from self._blocks

    def _front(self, before: bytes, text: bytes) -> tuple[list[Item], int, bool]:
        """Decodes whole events of what was left and a block behind it: (events, bytes used, whether the array ended)."""
        cut = next(boundaries(text), None)
        events = None if cut is None else self._try(text, cut, before)
        if cut is not None and events is not None:
            return events, len(before) + cut, False
        buffer = before + text
        for cut in boundaries(buffer):
            events = self._try(buffer, cut)
            if events is not None:
                return events, cut, False
        return self._salvaged(buffer, final=False)

    def _last(self, buffer: bytes) -> tuple[list[Item], int]:
        """Decodes the last events: (events, bytes used)."""
        if self.bare_list:
            end = buffer.rstrip(_SPACE + b"\0")
            events = self._try(end, len(end) - 1) if end.endswith(b"]") else None
            if events is not None:
                return events, len(buffer)
        else:
            for match in reversed(list(_ARRAY_END.finditer(buffer))[-CUTS_TRIED * 4 :]):
                events = self._try(buffer, match.start())
                if events is not None:
                    return events, match.start() + 1
        events, used, ended = self._salvaged(buffer, final=True)
        # A bare list may stay open by the format's own words; an object that stays open was cut.
        if not (ended or self.bare_list or self._repairs.count("truncated")):
            at, event = self._offset + used, self._events + len(events)
            self._repairs.add("truncated", at, event=event, detail=" (between two events)")
        return events, used

    def _salvaged(self, buffer: bytes, *, final: bool) -> tuple[list[Item], int, bool]:
        result = Salvage(
            buffer,
            offset=self._offset,
            before=self._events,
            name=self._name,
            repairs=self._repairs,
            shape=self._shape,
            places=self.places,
            final=final,
        ).run()
        return result.events, result.used, result.ended

    def _try(self, text: bytes, end: int, before: bytes = b"") -> list[Item] | None:
        """The events of what was left before a text and of the text up to an end, if all of it is whole events."""
        first = gap(before, len(before))
        start = 0 if first < len(before) else gap(text, end)
        while end > start and text[end - 1] in GAP_BYTES:
            end -= 1
        # One copy: the text is megabytes.
        array = b"".join((b"[", memoryview(before)[first:], memoryview(text)[start:end], b"]"))
        place = self._events, self._offset + first + start
        try:
            events = self._shape.many(array, place)
        except FAILURES:
            return None
        self.places.add(*place)
        return events


def _begins_trace(text: bytes) -> bool:
    """Whether a document with events begins here, or somewhere behind its metadata."""
    return _ARRAY.search(text) is not None or (text.startswith(b"[") and b'"ph"' in text[:4096])
