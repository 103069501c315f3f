"""What a run of events is decoded into: typed events for measuring, or their own text for writing them elsewhere."""

from __future__ import annotations

from collections import Counter
from itertools import islice
from typing import Any

import msgspec

from traces.patterns import Pattern
from traces.reader.columns import by_category
from traces.reader.decode.duplicate_keys import DoubledKeys
from traces.reader.events import DECODER, EXACT_DECODER, Event, ExactEvent
from traces.reader.mend.escapes import mend
from traces.reader.mend.loose import decode_loosely
from traces.reader.mend.nesting import event_starts
from traces.reader.mend.repairs import Repairs
from traces.reader.shape import Place

# An absolute stamp of microseconds with a fraction: float64 would round it.
_FINE_STAMP = Pattern(rb'"ts"\s*:\s*"?\d{13,}\.\d*[1-9]')
# After that many misfits one in as many runs is a try: it costs no more than some percent.
_MOST_NOT_TRIED = 32
# Beyond 2**43 us a float64 no longer tells nanoseconds apart.
_FLOAT_LIMIT_US = float(1 << 43)


class TypedEvents:
    """Events as structs, with as many digits of their time stamps as the file has.

    Args:
        repairs: Where doubled keys are counted.
    """

    def __init__(self, repairs: Repairs) -> None:
        self._repairs = repairs
        self._doubles = DoubledKeys()
        self._exact = False

    def prepare(self, text: bytes) -> None:
        """Finds out whether stamps have to be decoded as decimals."""
        self._exact = self._exact or _FINE_STAMP.search(text) is not None

    def many(self, array: bytes, place: Place) -> list[Event]:
        """All events of an array."""
        events = self._decoded(array)
        if not self._exact and _may_lose_digits(events) and _FINE_STAMP.search(array):
            self._exact = True
            events = self._decoded(array)
        doubled = self._doubles.find(array, events)
        if doubled:
            number, offset = place
            inside = next(islice(event_starts(array[1:]), doubled[0], None), 0)
            self._repairs.add("duplicate-key", offset + inside, event=number + doubled[0], count=len(doubled))
        return events

    def _decoded(self, array: bytes) -> list[Event]:
        decoder: msgspec.json.Decoder[Any] = EXACT_DECODER if self._exact else DECODER
        events: list[Event] = decoder.decode(array)
        return events

    def one(self, text: bytes) -> tuple[Event, Counter[str]]:
        """One event: as it stands, else mended, else key by key."""
        shape: type[Event] = ExactEvent if self._exact else Event
        counts: Counter[str] = Counter()
        try:
            event = msgspec.json.decode(text, type=shape)
        except (msgspec.DecodeError, UnicodeDecodeError):
            text, counts = mend(text)
            event, wrong = _typed_or_loose(shape, text)
            counts["wrong-type"] += wrong
        counts["duplicate-key"] += len(self._doubles.find(b"[%b]" % text, [event]))
        return event, counts


class EventsByCategory(TypedEvents):
    """The same, but runs of events of known categories as structs with only what columns ask of each.

    A run that does not fit is decoded as ever; the more such runs were tried one after another, the more are not tried next.

    Args:
        repairs: As for `TypedEvents`.
    """

    def __init__(self, repairs: Repairs) -> None:
        super().__init__(repairs)
        self._misfits = self._not_tried = 0

    def _decoded(self, array: bytes) -> list[Event]:
        if self._not_tried:
            self._not_tried -= 1
            return super()._decoded(array)
        try:
            events: list[Event] = by_category.decoder(exact=self._exact).decode(array)
        except msgspec.ValidationError:
            self._misfits += 1
            self._not_tried = min(self._misfits - 1, _MOST_NOT_TRIED)
            return super()._decoded(array)
        self._misfits = 0
        return events


def _typed_or_loose(shape: type[Event], text: bytes) -> tuple[Event, int]:
    """One event, and how many of its values had another type."""
    try:
        return msgspec.json.decode(text, type=shape), 0
    except msgspec.ValidationError:
        return decode_loosely(shape, text)


class RawEvents:
    """Events as the text they were written in, mended only where it is no JSON."""

    _MANY = msgspec.json.Decoder(list[msgspec.Raw])
    _OBJECT = msgspec.json.Decoder(dict[str, msgspec.Raw])

    def prepare(self, text: bytes) -> None:
        """Nothing to find out."""

    def many(self, array: bytes, place: Place) -> list[bytes]:
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
    return any(type(event.ts) is float and event.ts >= _FLOAT_LIMIT_US for event in events[:32] + events[32::61])
