"""What a run of events is decoded into: typed events for measuring, or their own text for writing them elsewhere."""

from __future__ import annotations

import json
import re
from collections import Counter
from operator import attrgetter
from typing import Any, Generic, Protocol, TypeVar

import msgspec

from traces.reader.events import DECODER, EXACT_DECODER, Event, ExactEvent
from traces.reader.loose import decode_loosely
from traces.reader.mend import mend
from traces.reader.repairs import Repairs

Item = TypeVar("Item")

# What decoding raises on text that is no sound run of events.
FAILURES = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)

_DURATION = b'"dur":'
_duration_of = attrgetter("dur")
# An absolute stamp of microseconds with a fraction: float64 would round it.
_FINE_STAMP = re.compile(rb'"ts"\s*:\s*"?\d{13,}\.\d*[1-9]')
# Beyond 2**43 us a float64 no longer tells nanoseconds apart.
_FLOAT_LIMIT_US = float(1 << 43)


class Shape(Protocol, Generic[Item]):
    """How events are decoded."""

    def prepare(self, text: bytes) -> None:
        """Looks at text before its events are decoded one by one."""
        ...

    def many(self, array: bytes, offset: int) -> list[Item]:
        """All events of a JSON array; raises one of `FAILURES` where any is unsound."""
        ...

    def one(self, text: bytes) -> tuple[Item, Counter[str]]:
        """One event, mended where possible, with what was mended; raises one of `FAILURES`."""
        ...


class TypedEvents:
    """Events as structs, with as many digits of their time stamps as the file has.

    Args:
        repairs: Where doubled keys are counted.
    """

    def __init__(self, repairs: Repairs) -> None:
        self._repairs = repairs
        self._exact = False
        self._watch_doubles = True

    def prepare(self, text: bytes) -> None:
        """Finds out whether stamps have to be decoded as decimals."""
        self._exact = self._exact or _FINE_STAMP.search(text) is not None

    def many(self, array: bytes, offset: int) -> list[Event]:
        """All events of an array."""
        decoder: msgspec.json.Decoder[Any] = EXACT_DECODER if self._exact else DECODER
        events: list[Event] = decoder.decode(array)
        if not self._exact and _may_lose_digits(events) and _FINE_STAMP.search(array):
            self._exact = True
            events = EXACT_DECODER.decode(array)  # type: ignore[assignment]
        # The count comes first: it is cheap, and equal to the other in a sound file.
        if self._watch_doubles and array.count(_DURATION) > len(events) - list(map(_duration_of, events)).count(None):
            self._count_doubles(array, offset)
        return events

    def one(self, text: bytes) -> tuple[Event, Counter[str]]:
        """One event: as it stands, else mended, else key by key."""
        shape: type[Event] = ExactEvent if self._exact else Event
        counts: Counter[str] = Counter()
        try:
            return msgspec.json.decode(text, type=shape), counts
        except (msgspec.DecodeError, UnicodeDecodeError):
            text, counts = mend(text)
        try:
            return msgspec.json.decode(text, type=shape), counts
        except msgspec.ValidationError:
            event, wrong = decode_loosely(shape, text)
            counts["wrong-type"] += wrong
            return event, counts

    def _count_doubles(self, array: bytes, offset: int) -> None:
        """Counts events that state a key twice (the last counts, by the decoder's own rule).

        Looked for only where durations outnumber the events that have one: a doubled duration changes results. An
        argument of that name would have this search the whole file slowly, so the first false alarm ends it.
        """
        doubled = 0

        def count(pairs: list[tuple[str, Any]]) -> None:
            nonlocal doubled
            doubled += len({key for key, _ in pairs}) < len(pairs)

        json.loads(array.decode("utf-8", "replace"), object_pairs_hook=count)
        if doubled:
            self._repairs.add("duplicate-key", offset, count=doubled)
        else:
            self._watch_doubles = False


class RawEvents:
    """Events as the text they were written in, mended only where it is no JSON."""

    _MANY = msgspec.json.Decoder(list[msgspec.Raw])
    _OBJECT = msgspec.json.Decoder(dict[str, msgspec.Raw])

    def prepare(self, text: bytes) -> None:
        """Nothing to find out."""

    def many(self, array: bytes, offset: int) -> list[bytes]:
        """All events of an array."""
        array.decode()
        events = [bytes(raw).strip() for raw in self._MANY.decode(array)]
        if not all(map(_is_object, events)):
            raise msgspec.ValidationError("something in the list is no event")
        return events

    def one(self, text: bytes) -> tuple[bytes, Counter[str]]:
        """One event."""
        counts: Counter[str] = Counter()
        try:
            text.decode()
            self._OBJECT.decode(text)
        except (msgspec.DecodeError, UnicodeDecodeError):
            text, counts = mend(text)
            self._OBJECT.decode(text)
        return text.strip(), counts


def _is_object(text: bytes) -> bool:
    return text.startswith(b"{")


def _may_lose_digits(events: list[Event]) -> bool:
    """Whether stamps with a fraction are so large that float64 rounded them; one file writes all of them one way."""
    return any(type(event.ts) is float and event.ts >= _FLOAT_LIMIT_US for event in events[:256] + events[256::61])
