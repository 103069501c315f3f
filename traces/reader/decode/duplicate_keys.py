"""Events that state a key twice: the decoder lets the last one count, in silence."""

from __future__ import annotations

import json
from collections.abc import Sequence
from operator import attrgetter

import numpy as np

from traces.reader.events import Event

_KEYS = ("ph", "cat", "pid", "tid", "ts", "dur")
# A writer that doubles keys does so everywhere; to count in all of the text would take as long as decoding it.
_PERIOD_BYTES = 64 << 20
_LOOKED_AT_BYTES = 512 << 10


class DoubledKeys:
    """Finds events with a doubled key: in all text once there was one, before that at the beginning of every 64 MB.

    A run is searched where a key outnumbers the events that have one. An argument of the same name does that too, and
    always will: the first false alarm ends the watch for that key.
    """

    def __init__(self) -> None:
        self._watched = set(_KEYS)
        self._bytes = 0
        self._found = False

    def find(self, array: bytes, events: Sequence[Event]) -> list[int]:
        """Which of one run of events do, by their place in it; it is given as text and as it was decoded."""
        beyond = self._bytes % _PERIOD_BYTES >= _LOOKED_AT_BYTES
        self._bytes += len(array)
        if beyond and not self._found:
            return []
        named = _named(array)
        alarms = {key for key in self._watched if named[key] > _stated(events, key)}
        if not alarms:
            return []
        doubled = _states_twice(array)
        if doubled:
            self._found = True
        else:
            self._watched -= alarms
        return doubled


def _named(array: bytes) -> dict[str, int]:
    """How often each key stands in a text that begins with a bracket.

    What stands before the ends of all keys is looked at once: to count them one after another takes six times as long, in all
    as much as decoding 2 MB.
    """
    text = np.frombuffer(array, dtype=np.uint8)
    ends = np.flatnonzero((text[:-1] == ord('"')) & (text[1:] == ord(":")))
    before = np.ndarray(max(len(text) - 3, 0), dtype="<u4", buffer=array, strides=(1,))[ends[ends >= 4] - 4]
    return {key: int(np.count_nonzero(before >> 8 * (3 - len(key)) == _as_number(key))) for key in _KEYS}


def _as_number(key: str) -> int:
    """A key and the quote before it, as the last of the four bytes of a number."""
    return int.from_bytes(b'"' + key.encode(), "little")


def _stated(events: Sequence[Event], key: str) -> int:
    return len(events) - list(map(attrgetter(key), events)).count(None)


def _states_twice(array: bytes) -> list[int]:
    """Which objects of an array state a key twice; what is inside them does not count."""
    # A number may have more digits than Python converts, and none is needed.
    decoder = json.JSONDecoder(object_pairs_hook=_doubled, parse_int=bool, parse_float=bool, strict=False)
    try:
        found: list[bool] = decoder.decode(array.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        # The other decoder does not look at what it skips.
        return []
    return [index for index, twice in enumerate(found) if twice]


def _doubled(pairs: list[tuple[str, object]]) -> bool:
    return len(dict(pairs)) < len(pairs)
