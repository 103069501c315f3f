"""Takes what can be read from text whose plain decode failed: whole batches where they are sound, else event by event.

An event's end is found by its nesting; where a string never closes as it should (an unescaped quote), the text is taken
up again at the next place that looks like the beginning of an event, and one event is lost.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from itertools import pairwise
from typing import Generic

import msgspec

from traces.errors import UnreadableTraceError
from traces.patterns import Pattern
from traces.reader import limits
from traces.reader.mend.escapes import first_mended, mend
from traces.reader.mend.nesting import closing_end
from traces.reader.mend.places import Places
from traces.reader.mend.repairs import Repairs
from traces.reader.shape import FAILURES, Item, Place, Shape

_KEYS = rb'"(?:ph|name|cat|pid|tid|ts|dur|args|id)"\s*:'
_EDGE = Pattern(rb"\}\s*,\s*(?=\{\s*" + _KEYS + rb")")
_BEGINNING = Pattern(rb"\{\s*" + _KEYS)
_GAP = Pattern(rb"[\s,]*")
_OTHER = Pattern(rb'"(?:[^"\\]|\\.)*"(?!\s*:)|[-+\w.]+', re.DOTALL)
# Behind a bracket inside a lost event more events follow, behind that of the list none do.
_AFTER_ARRAY = Pattern(rb"[\s}]*,\s*(?=\{)")
_SECOND_DOCUMENT = Pattern(rb'"(?:traceEvents|schemaVersion|deviceProperties|distributedInfo)"\s*:')
# Sound text is decoded in pieces of this size around a defect.
_BATCH_BYTES = 64 << 10
# An unescaped quote hides the next beginnings of events from the nesting; more than so many are not tried.
_EDGES_TRIED = 8
# An event that seems to go on for longer is taken for one whose quotes do not pair, unless it is among the first few.
_LONG_EVENT = 1 << 20
_LONG_EVENTS = 100


class Salvaged(Generic[Item], msgspec.Struct):
    """What a text gave.

    Args:
        events: Readable events, in order.
        used: Bytes taken.
        ended: Whether the list of events was closed within them.
    """

    events: list[Item] = msgspec.field(default_factory=list)
    used: int = 0
    ended: bool = False


class Salvage(Generic[Item]):
    """One pass over one text.

    Args:
        text: Text after the list's opening bracket, beginning between two events.
        offset: Its place in the file.
        before: Events read before it.
        name: File name.
        repairs: Where every repair is counted.
        shape: What events are decoded into.
        places: Where it is kept where events begin.
        final: Whether the file ends with this text.
    """

    def __init__(
        self,
        text: bytes,
        *,
        offset: int,
        before: int,
        name: str,
        repairs: Repairs,
        shape: Shape[Item],
        places: Places,
        final: bool,
    ) -> None:
        self._text = text
        self._offset = offset
        self._before = before
        self._name = name
        self._repairs = repairs
        self._shape = shape
        self._places = places
        self._final = final
        self._edges = [match.start() + 1 for match in _EDGE.finditer(text)]
        self._single_until = 0
        self._long_events_left = _LONG_EVENTS
        self._lost = 0
        self._result: Salvaged[Item] = Salvaged()
        shape.prepare(text)

    def run(self) -> Salvaged[Item]:
        """Reads as far as whole events go."""
        result = self._result
        position = taken = 0
        while True:
            gap = _GAP.match(self._text, position)
            separator = gap.group() if gap else b""
            position += len(separator)
            if position >= len(self._text):
                break
            if len(result.events) > taken and b"," not in separator and self._text[position : position + 1] == b"{":
                self._count("missing-comma", position)
            taken = len(result.events)
            following = self._step(position)
            if following is None or result.ended:
                position = position if following is None else following
                break
            position = following
        result.used = position
        return result

    def _step(self, position: int) -> int | None:
        """Takes what stands at `position`: where to go on, or None where more text is needed."""
        first = self._text[position : position + 1]
        if first == b"{":
            return self._batch(position) or self._single(position)
        if first == b"]":
            more = _AFTER_ARRAY.match(self._text, position + 1)
            if more:
                self._count("stray-text", position)
                return more.end()
            self._result.ended = True
            return position + 1
        return self._other(position, first)

    def _batch(self, position: int) -> int | None:
        """Takes as many sound events as fit in a batch; None where they have to be looked at one by one."""
        if position < self._single_until:
            return None
        last = bisect_right(self._edges, position + _BATCH_BYTES) - 1
        if last < 0 or self._edges[last] <= position:
            return None
        end = self._edges[last]
        place = self._place(position)
        piece = b"[" + self._text[position:end] + b"]"
        events = self._decode(piece, place)
        if events is None:
            mended, counts = mend(piece)
            events = self._decode(mended, place) if counts else None
            if events is None:
                self._single_until = end
                return None
            self._count_in_batch(counts, position, end)
        self._places.add(*place)
        self._result.events += events
        return end

    def _decode(self, piece: bytes, place: Place) -> list[Item] | None:
        try:
            return self._shape.many(piece, place)
        except FAILURES:
            return None

    def _place(self, position: int) -> Place:
        return self._before + len(self._result.events), self._offset + position

    def _count_in_batch(self, counts: Counter[str], position: int, end: int) -> None:
        """Counts what was mended in several events at once: where the first of each kind is, or where all begin."""
        number = self._before + len(self._result.events)
        firsts = first_mended(self._text[position:end], {kind for kind in counts if not self._repairs.count(kind)})
        for kind, count in counts.items():
            index, start = firsts.get(kind, (0, 0))
            self._repairs.add(kind, self._offset + position + start, event=number + index, count=count)

    def _single(self, position: int) -> int | None:
        """Takes one event, or gives it up; None where more text is needed."""
        after = bisect_right(self._edges, position)
        # Where event after event is lost, the file is hostile or no trace: no long search for each.
        tries = _EDGES_TRIED if self._lost < _LONG_EVENTS else 2
        edges = self._edges[after : after + tries]
        near = edges[-1] if len(edges) == tries else position + _LONG_EVENT
        nested = self._nested_end(position, near)
        for end in [nested, *edges] if nested else edges:
            if self._one(position, end):
                return end
        if nested is None and near < position + _LONG_EVENT and self._long_events_left:
            self._long_events_left -= 1
            nested = self._nested_end(position, position + _LONG_EVENT)
            if nested and self._one(position, nested):
                return nested
        if nested is None and not self._final and len(self._text) - position < _LONG_EVENT:
            return None
        if not edges:
            return self._last(position, nested) if self._final else None
        lost = self._resumption(after, tries)
        self._lose(position, lost)
        return lost

    def _resumption(self, after: int, tries: int) -> int:
        """Where to go on after a lost event: before the next text that states a phase, as no argument does."""
        edges = [*self._edges[after : after + tries + 1], len(self._text)]
        for end, following in pairwise(edges):
            if b'"ph"' in self._text[end:following]:
                return end
        return edges[0]

    def _last(self, position: int, nested: int | None) -> int:
        """The last event of the file: behind an unescaped quote its end may still stand before the list's."""
        rest = self._text[position:]
        for match in list(re.finditer(rb"\}\s*(?=\])", rest))[-_EDGES_TRIED:]:
            if self._one(position, position + match.start() + 1):
                return position + match.start() + 1
        closing = re.search(rb"\}\s*\]\s*(?:\}|,\s*\"|$)", rest)
        if closing or nested:
            end = position + closing.start() + 1 if closing else nested or len(self._text)
            self._lose(position, end)
            return end
        self._refuse_second_document(rest, position)
        self._count(
            "truncated",
            position,
            detail=f" (byte {self._offset + len(self._text):,}, in an event of {len(rest):,} bytes)",
        )
        return len(self._text)

    def _nested_end(self, position: int, limit: int) -> int | None:
        return closing_end(
            self._text,
            position,
            limit,
            check=lambda depth, place: limits.check_depth(self._name, depth, self._offset + place),
        )

    def _one(self, position: int, end: int) -> bool:
        piece = self._text[position:end]
        try:
            event, counts = self._shape.one(piece)
        except RecursionError:
            self._count("nested-too-deep", position)
            return True
        except FAILURES:
            return False
        self._count_all(counts, position)
        self._places.add(*self._place(position))
        self._result.events.append(event)
        return True

    def _lose(self, position: int, end: int) -> None:
        self._refuse_second_document(self._text[position:end], position)
        self._lost += 1
        self._count("lost-event", position)

    def _refuse_second_document(self, piece: bytes, position: int) -> None:
        """Two processes that write one file at once leave the beginning of the one amid the events of the other."""
        if _SECOND_DOCUMENT.search(piece):
            raise UnreadableTraceError(
                f"{self._name} holds two traces written into each other",
                where=f"byte {self._offset + position:,}",
                why="several processes (ranks) wrote the same path at the same time",
                fix="record again with one file per rank, for example trace.rank{rank}.json.gz",
            )

    def _other(self, position: int, first: bytes) -> int | None:
        """Something in the list that is no event."""
        if first == b"[":
            end = self._nested_end(position, len(self._text))
            if end is None and not self._final:
                return None
            self._count("not-an-event", position)
            return end or len(self._text)
        if first == b"}" and self._final and not self._text[position + 1 :].strip():
            self._count("missing-bracket", position)
            self._result.ended = True
            return position + 1
        match = _OTHER.match(self._text, position)
        if match and (match.end() < len(self._text) or self._final):
            self._count("not-an-event", position)
            return match.end()
        return self._skip(position)

    def _skip(self, position: int) -> int | None:
        beginning = _BEGINNING.search(self._text, position)
        end = beginning.start() if beginning else len(self._text)
        if not beginning and not self._final:
            return None
        self._refuse_second_document(self._text[position:end], position)
        self._count("stray-text" if beginning else "truncated", position)
        return end

    def _count(self, kind: str, position: int, *, count: int = 1, detail: str = "") -> None:
        event, offset = self._place(position)
        self._repairs.add(kind, offset, event=event, count=count, detail=detail)

    def _count_all(self, counts: Counter[str], position: int) -> None:
        for kind, count in counts.items():
            if count:
                self._count(kind, position, count=count)
